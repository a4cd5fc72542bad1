"""What a model's name tells of its work."""

from agent_core.providers.model_listing import seems_to_chat
from tests.support.each import each


@each(
    "name",
    [
        "gpt-5.1",
        "gpt-4o",
        "o3",
        "chatgpt-4o-latest",
        "claude-sonnet-4-6",
        "meta-llama/Llama-3.3-70B-Instruct-Turbo",
        "qwen3:8b",
        "accounts/fireworks/models/kimi-k2-instruct",
        "gemini-2.5-flash",
        "mistral-large-latest",
        "grok-4-fast",
        "qwen3-vl-8b-instruct",
        "imagine-coder",
        "deepseek-ocrelle",
        "my-model",
    ],
)
def test_a_model_that_talks_is_kept(name):
    assert seems_to_chat(name)


@each(
    "name",
    [
        "text-embedding-3-large",
        "nomic-embed-text:latest",
        "mistral-embed",
        "bge-m3",
        "gpt-4o-mini-tts",
        "tts-1-hd",
        "whisper-large-v3",
        "gpt-4o-transcribe",
        "dall-e-3",
        "gpt-image-1",
        "chatgpt-image-latest",
        "imagen-4.0-generate",
        "google/gemini-2.5-flash-image",
        "veo-3.0-generate",
        "sora-2",
        "omni-moderation-latest",
        "meta-llama/llama-guard-4-12b",
        "gpt-oss-safeguard-20b",
        "gpt-4o-realtime-preview",
        "gpt-audio-mini",
        "stable-diffusion-xl",
        "black-forest-labs/FLUX.1-dev",
        "accounts/fireworks/models/flux-1-dev",
        "mistral-ocr-latest",
        "rerank-v3.5",
        "gpt-3.5-turbo-instruct",
        "davinci-002",
        "o3-deep-research",
        "computer-use-preview",
    ],
)
def test_a_model_for_other_work_is_left_out(name):
    assert not seems_to_chat(name)
