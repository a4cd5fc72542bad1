"""What providers really answered when a request failed, each with where it was seen.

An entry is a head (provider, status or `in-band`, reason, source, and `wait=` with the seconds that the body asks for
at `NOW`) and the body as it was sent. Identifiers of people and requests are left out; where a source shows the
message alone, it stands in that provider's usual envelope. Lines of a body are joined by a space.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

NOW = datetime(2026, 3, 31, 10, 30, tzinfo=UTC).timestamp()
_TABLE = r"""
# anthropic 400 context_overflow https://github.com/earendil-works/pi/issues/102
{"type":"error","error":{"type":"invalid_request_error",
"message":"prompt is too long: 219898 tokens > 200000 maximum"}}
# anthropic 400 context_overflow https://github.com/docker/docker-agent/issues/569
{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context
limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"}}
# anthropic 400 billing https://github.com/anthropics/claude-code/issues/66314
{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the
Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."}}
# anthropic 400 billing https://github.com/anthropics/claude-code/issues/38035 wait=48600
{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits.
You will regain access on 2026-04-01 at 00:00 UTC."}}
# anthropic 529 overloaded https://github.com/anthropics/claude-code/issues/70365
{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
# anthropic 400 thinking_signature https://github.com/anthropics/claude-code/issues/10627
{"type":"error","error":{"type":"invalid_request_error",
"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}
# anthropic 429 long_context_tier https://github.com/anthropics/claude-code/issues/53607
{"type":"error","error":{"type":"rate_limit_error","message":"Extra usage is required for long context requests."}}
# anthropic 400 long_context_tier https://github.com/anthropics/claude-code/issues/27944
{"type":"error","error":{"type":"invalid_request_error",
"message":"The long context beta is not yet available for this subscription."}}
# anthropic 400 image_too_large https://github.com/anthropics/claude-code/issues/12351
{"type":"error","error":{"type":"invalid_request_error","message":"messages.5.content.1.image.source.base64.data:
At least one of the image dimensions exceed max allowed size: 8000 pixels"}}
# anthropic 400 image_too_large https://github.com/anthropics/claude-code/issues/14412
{"type":"error","error":{"type":"invalid_request_error","message":"messages.59.content.12.image.source.base64.data:
At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}
# anthropic 400 image_too_large https://github.com/anthropics/claude-code/issues/10612
{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.2.image.source.base64: image
exceeds 5 MB maximum: 15908784 bytes > 5242880 bytes"}}
# anthropic 404 model_not_found https://github.com/anthropics/claude-code/issues/5349
{"type":"error","error":{"type":"not_found_error","message":"model: sonnet4"}}
# anthropic 404 model_not_found https://github.com/anthropics/claude-code/issues/68120
{"type":"error","error":{"type":"not_found_error","message":"Claude Fable 5 is not available. Please use Opus 4.8."}}
# anthropic 404 format_error https://github.com/anthropics/claude-code/issues/6256
<!DOCTYPE html><html id="__next_error__"><head><title>Not Found \ Anthropic</title></head></html>
# anthropic 400 auth_permanent https://github.com/anthropics/claude-code/issues/72457
{"type":"error","error":{"type":"invalid_request_error","message":"This organization has been disabled."}}
# anthropic 401 auth_permanent https://github.com/anthropics/claude-code/issues/6752
{"type":"error","error":{"type":"authentication_error",
"message":"OAuth authentication is currently not allowed for this organization."}}
# anthropic 401 auth https://github.com/anthropics/claude-code/issues/3251
{"type":"error","error":{"type":"authentication_error",
"message":"Invalid OAuth token. The provided token was not found or is malformed."}}
# anthropic 429 rate_limit https://github.com/anthropics/claude-code/issues/18525
{"type":"error","error":{"type":"rate_limit_error",
"message":"This request would exceed your account's rate limit. Please try again later."}}
# anthropic 400 format_error https://github.com/anthropics/claude-code/issues/18525
{"type":"error","error":{"type":"invalid_request_error","message":"messages.3: `tool_use` ids were found without
`tool_result` blocks immediately after: toolu_01. Each `tool_use` block must have a corresponding `tool_result` block
in the next message."}}
# anthropic 400 content_policy https://github.com/anthropics/claude-code/issues/6195
{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}
# anthropic 413 payload_too_large https://docs.claude.com/en/api/errors
{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes"}}
# gateway 400 thinking_signature https://github.com/lbjlaq/Antigravity-Manager/issues/498
{"error":{"code":400,"message":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":
\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}","status":"INVALID_ARGUMENT"}}
# gateway 400 thinking_signature https://github.com/lbjlaq/Antigravity-Manager/issues/139
{"error":{"code":400,"message":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":
\"messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is
enabled, a final `assistant` message must start with a thinking block.\"}}","status":"INVALID_ARGUMENT"}}
# gateway 400 thinking_signature https://github.com/ding113/claude-code-hub/issues/518
{"type":"error","error":{"type":"request_fail","upstream_error":{"type":"error","error":{
"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking` block"}}}}
# gateway 400 thinking_signature https://github.com/openai/codex/issues/8100
{"error":{"message":"litellm.BadRequestError: OpenAIException - {\n  \"error\": {\n    \"message\": \"The encrypted
content gAAA...OA== could not be verified.\",\n    \"type\": \"invalid_request_error\",\n    \"param\": null,\n
\"code\": \"invalid_encrypted_content\"\n  }\n}. Received Model Group=gpt-5.1-codex-max","type":null,"code":"400"}}
# gateway 402 rate_limit https://github.com/Gitlawb/openclaude/issues/1554 wait=84600
{"error":{"message":"Free quota used (30 requests / 5h). Resets at 10:00 UTC. Top up for unlimited access at
https://gateway.example/credits.","type":"insufficient_quota","code":"free_quota_exceeded"}}
# openai 429 billing https://github.com/chatanywhere/GPT_API_free/issues/229
{"error":{"message":"You exceeded your current quota, please check your plan and billing details.",
"type":"insufficient_quota","param":null,"code":"insufficient_quota"}}
# openai 429 payload_too_large https://github.com/vanderschaarlab/climb/issues/1
{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000,
Requested 30601. The input or output tokens must be reduced in order to run successfully.","type":"tokens",
"param":null,"code":"rate_limit_exceeded"}}
# openai 429 rate_limit https://github.com/openai/codex/issues/88 wait=1.574
{"error":{"message":"Rate limit reached for o4-mini in organization org-x on tokens per min (TPM): Limit 200000, Used
162960, Requested 42288. Please try again in 1.574s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}
# openai in-band rate_limit https://github.com/openai/codex/issues/2255 wait=0.028
{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Rate limit reached for gpt-5 in organization org-x
on tokens per min (TPM): Limit 40000000, Used 40000000, Requested 19304. Please try again in 28ms.","param":null}}
# openai 400 context_overflow https://github.com/himanushi/chat-code/issues/17
{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 4363
tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages",
"code":"context_length_exceeded"}}
# openai in-band context_overflow https://github.com/openai/codex/issues/3177
{"error":{"type":"invalid_request_error","code":"context_length_exceeded",
"message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}
# openai 404 model_not_found https://github.com/shobrook/wut/issues/14
{"error":{"message":"The model `gpt-4o` does not exist or you do not have access to it.",
"type":"invalid_request_error","param":null,"code":"model_not_found"}}
# openai 401 auth_permanent https://github.com/ChatGPTNextWeb/NextChat/issues/4175
{"error":{"message":"The OpenAI account associated with this API key has been deactivated.",
"type":"invalid_request_error","param":null,"code":"account_deactivated"}}
# openai 403 provider_policy_blocked https://github.com/home-assistant/core/issues/120072
{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported",
"param":null,"type":"request_forbidden"}}
# openai in-band server_error https://github.com/openai/codex/issues/646
{"error":{"type":"server_error","code":"server_error","message":"An error occurred while processing your request. You
can retry your request, or contact us through our help center if the error persists.","param":null}}
# openai in-band overloaded https://github.com/openai/codex/issues/43337
{"error":{"type":"service_unavailable_error","code":"server_is_overloaded",
"message":"Our servers are currently overloaded. Please try again later.","param":null}}
# openai 400 thinking_signature https://github.com/openai/codex/issues/8132
{"error":{"message":"The encrypted content gAAA...Rg== could not be verified.","type":"invalid_request_error",
"param":null,"code":"invalid_encrypted_content"}}
# openai 400 content_policy https://github.com/alan-turing-institute/t0-1/issues/69
{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try
again with a different prompt.","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}
# openai 400 image_too_large https://github.com/STranslate/STranslate/issues/277
{"error":{"message":"You uploaded an unsupported image. Please make sure your image has of one the following formats:
['png', 'jpeg', 'gif', 'webp'].","type":"invalid_request_error","param":null,"code":"invalid_image_format"}}
# openai-codex 429 rate_limit https://github.com/earendil-works/pi/issues/4172 wait=13872
{"type":"error","error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"plus",
"resets_at":1777936568,"eligible_promo":null,"resets_in_seconds":13872}}
# openai-codex 400 overloaded https://github.com/tontinton/maki/issues/777
{"error":{"message":"Our servers are currently overloaded. Please try again later."}}
# azure 400 content_policy https://github.com/compl-ai/compl-ai/issues/20
{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.
Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{
"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"medium"}}}}}
# azure 404 model_not_found https://github.com/chatboxai/chatbox/issues/861
{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created
the deployment within the last 5 minutes, please wait a moment and try again."}}
# azure 429 rate_limit https://github.com/vanderschaarlab/climb/issues/1 wait=86400
{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API version
2024-08-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 86400
seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the rate limit."}}
# openrouter in-band rate_limit https://github.com/open-webui/computer/issues/293
{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"z-ai/glm-5.3-flash is temporarily
rate-limited upstream. Please retry shortly, or add your own key.","provider_name":"BaseTen",
"limit_source":"upstream_provider_shared_pool"}}}
# openrouter in-band rate_limit https://github.com/BerriAI/litellm/issues/8448
{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"error code: 1015",
"provider_name":"Kluster"}}}
# openrouter in-band server_error https://openrouter.ai/docs/api/reference/errors-and-debugging
{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"","provider_name":"Chutes"}}}
# openrouter 400 image_too_large https://github.com/diegosouzapw/OmniRoute/issues/3044
{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"type\":
\"invalid_request_error\",\"code\":\"invalid_request_error\",\"message\":\"Model 'moonshotai/kimi-k2.6' supports at
most 1 image per prompt.\"}}","provider_name":"Crucible","is_byok":false}}}
# openrouter 404 provider_policy_blocked https://github.com/unoplat/unoplat-code-confluence/issues/1080
{"error":{"message":"No endpoints found matching your data policy (Paid model training). Configure:
https://openrouter.ai/settings/privacy","code":404}}
# openrouter 404 provider_policy_blocked https://github.com/truefoundry/models/pull/826
{"error":{"message":"No endpoints available matching your guardrail restrictions and data policy. Configure:
https://openrouter.ai/settings/privacy","code":404}}
# openrouter 404 model_not_found https://github.com/vyancharuk/nodejs-api-boilerplate/issues/16
{"error":{"message":"No endpoints found for nousresearch/hermes-3-llama-3.1-405b:free.","code":404}}
# openrouter 400 model_not_found https://github.com/maxnowack/anthropic-proxy/issues/4
{"error":{"message":"google/gemini-2.0-pro-exp-02-05:free is not a valid model ID","code":400}}
# openrouter 402 billing https://github.com/babikov/doka-site/issues/7
{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but
can only afford 10114. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
"code":402,"metadata":{"provider_name":null}}}
# openrouter 401 auth https://github.com/apurvsinghgautam/robin/issues/103
{"error":{"message":"User not found.","code":401}}
# openrouter 429 rate_limit https://github.com/Gitlawb/openclaude/issues/936
{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per
day","code":429,"metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0"}}}}
# openrouter 400 context_overflow https://github.com/refly-ai/refly/issues/1177
{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens
(42832 of text input). Please reduce the length of either one, or use the \"middle-out\" transform.","code":400}}
# openrouter 403 content_policy https://openrouter.ai/docs/api/reference/errors-and-debugging
{"error":{"code":403,"message":"Your chosen model requires moderation and your input was flagged",
"metadata":{"reasons":["violence"],"flagged_input":"...","provider_name":"OpenAI","model_slug":"openai/gpt-4o"}}}
# gemini 429 rate_limit https://github.com/n4ze3m/page-assist/issues/406
[{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}]
# gemini 429 rate_limit https://github.com/ogkalu2/comic-translate/issues/403 wait=58
[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. * Quota
exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20, model:
gemini-2.5-flash\nPlease retry in 58.821668433s.","status":"RESOURCE_EXHAUSTED","details":[
{"@type":"type.googleapis.com/google.rpc.Help","links":[{"description":"Learn more about Gemini API quotas"}]},
{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaValue":"20",
"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},
{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"58s"}]}}]
# gemini 429 billing https://github.com/continuedev/continue/issues/11926 wait=17.30897372
[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. * Quota
exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 0, model:
gemini-3.1-pro\nPlease retry in 17.30897372s.","status":"RESOURCE_EXHAUSTED"}}]
# gemini 400 context_overflow https://github.com/google-gemini/gemini-cli/issues/6678
[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed
(1048576).","errors":[{"message":"The input token count (1200293) exceeds the maximum number of tokens allowed
(1048576).","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]
# gemini 400 auth https://github.com/continuedev/continue/issues/10748
[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT",
"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}]
# gemini 503 overloaded https://github.com/lobehub/lobehub/issues/9728
{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}
# gemini 400 thinking_signature https://github.com/lbjlaq/Antigravity-Manager/issues/139
{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required
for tools to work correctly.","status":"INVALID_ARGUMENT"}}
# gemini 404 model_not_found https://github.com/cognizant-ai-lab/neuro-san/pull/348
[{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta, or is not supported for
generateContent.","status":"NOT_FOUND"}}]
# deepseek 402 billing https://github.com/Aider-AI/aider/issues/4851
{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}
# deepseek 400 context_overflow https://github.com/evalstate/fast-agent/issues/621
{"error":{"message":"This model's maximum context length is 131072 tokens. However, you requested 131134 tokens
(122942 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.",
"type":"invalid_request_error","param":null,"code":"invalid_request_error"}}
# groq 413 payload_too_large https://github.com/assafelovic/gpt-researcher/issues/985
{"error":{"message":"Request too large for model `llama-3.1-70b-versatile` in organization `org_x` on tokens per
minute (TPM): Limit 6000, Requested 14368, please reduce your message size and try again.","type":"tokens",
"code":"rate_limit_exceeded"}}
# groq 429 rate_limit https://github.com/elizaOS/eliza/issues/4040 wait=4.77
{"error":{"message":"Rate limit reached for model `llama-3.1-8b-instant` in organization `org_x` service tier
`on_demand` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.77s. Need more
tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens",
"code":"rate_limit_exceeded"}}
# groq 400 context_overflow https://github.com/thepersonalaicompany/amurex-backend/issues/51
{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error",
"param":"messages","code":"context_length_exceeded"}}
# groq 401 auth https://github.com/ag5826000/resume-commentor/issues/4
{"error":{"message":"Invalid API Key","type":"invalid_request_error","code":"invalid_api_key"}}
# groq 400 auth_permanent https://github.com/songquanpeng/one-api/issues/271
{"error":{"message":"Organization has been restricted. Please reach out to support if you believe this was in error.",
"type":"invalid_request_error","code":"organization_restricted"}}
# groq 400 format_error https://github.com/skapadia3214/groq-moa/issues/8
{"error":{"message":"max_tokens for `llama-3.1-8b-instant` must be less than or equal to 8000",
"type":"invalid_request_error"}}
# mistral 429 rate_limit https://github.com/continuedev/continue/issues/6185
{"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error",
"param":null,"code":null}
# mistral 429 rate_limit https://github.com/raycast/extensions/issues/31107
{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300",
"raw_status_code":429}
# mistral 401 auth https://github.com/continuedev/continue/issues/10277
# xai 403 billing https://github.com/griptape-ai/griptape-nodes-engine/issues/1079
{"code":"The caller does not have permission to execute the specified operation","error":"Your newly created teams
doesn't have any credits yet. You can purchase credits on https://console.x.ai/team/x."}
# xai 429 billing https://github.com/continuedev/continue/issues/10373
{"code":"Some resource has been exhausted","error":"Your team x has either used all available credits or reached its
monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."}
# xai 400 context_overflow https://github.com/cline/cline/issues/3120
{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request
contains 136973 tokens."}
# xai 400 auth https://github.com/continuedev/continue/issues/11412
{"code":"Client specified an invalid argument","error":"Incorrect API key provided: sk***YA. You can obtain an API key
from https://console.x.ai."}
# bedrock 400 context_overflow https://github.com/aws-samples/assessment-generator/issues/2
{"message":"Input is too long for requested model."}
# bedrock 400 model_not_found https://github.com/MattJColes/lgtmaybe/pull/70
{"message":"The provided model identifier is invalid."}
# bedrock 400 model_not_found https://github.com/langchain-ai/langchain-aws/issues/256
{"message":"Invocation of model ID meta.llama3-2-3b-instruct-v1:0 with on-demand throughput isn’t supported. Retry
your request with the ID or ARN of an inference profile that contains this model."}
# bedrock 400 payload_too_large https://github.com/langchain-ai/langchain-aws/issues/419
{"message":"1 validation error detected: Value at 'body' failed to satisfy constraint: Member must have length less
than or equal to 25000000"}
# bedrock 400 format_error https://github.com/charmbracelet/crush/issues/946
{"message":"The maximum tokens you requested exceeds the model limit of 32768"}
# zai 429 billing https://github.com/zai-org/GLM-5/issues/148
{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}
# zai 429 billing https://github.com/agentscope-ai/QwenPaw/issues/202
{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}
# zai 400 context_overflow https://docs.bigmodel.cn/cn/api/api-code
{"error":{"code":"1261","message":"Prompt 超长"}}
# zai 429 overloaded https://docs.bigmodel.cn/cn/api/api-code
{"error":{"code":"1312","message":"该模型当前访问量过大,请您稍后再试"}}
# minimax 400 context_overflow https://github.com/MiniMax-AI/MiniMax-M2/issues/119
{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)",
"http_code":"400"}}
# minimax 429 billing https://github.com/modelscope/modelscope/issues/1691
{"error":{"http_code":"429","message":"insufficient balance (1008)","type":"insufficient_balance_error"}}
# minimax 500 billing https://github.com/MiniMax-AI/MiniMax-M2/issues/62
{"type":"error","error":{"type":"api_error","message":"insufficient balance (1008)"}}
# minimax in-band context_overflow https://github.com/MiniMax-AI/MiniMax-01/issues/15
{"error":{"choices":null,"base_resp":{"status_code":1039,"status_msg":"token limit"}}}
# moonshot 429 billing https://github.com/666ghj/BettaFish/issues/524
{"error":{"message":"Your account org-x is suspended due to insufficient balance, please recharge your account or
check your plan and billing details","type":"exceeded_current_quota_error"}}
# moonshot 400 context_overflow https://github.com/MoonshotAI/kimi-cli/issues/2011
{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)",
"type":"invalid_request_error"}}
# moonshot 400 content_policy https://platform.kimi.ai/docs/api/errors
{"error":{"type":"content_filter","message":"The request was rejected because it was considered high risk"}}
# moonshot 401 auth https://platform.kimi.ai/docs/api/errors
{"error":{"type":"invalid_authentication_error","message":"Invalid Authentication"}}
# moonshot 429 overloaded https://www.kimi.com/code/docs/en/kimi-code/error-reference.html
{"error":{"type":"engine_overloaded_error","message":"The engine is currently overloaded, please try again later"}}
# moonshot 403 provider_policy_blocked https://www.kimi.com/code/docs/en/kimi-code/error-reference.html
{"error":{"type":"access_denied","message":"Kimi For Coding is currently only available for Coding Agents"}}
# moonshot 403 rate_limit https://www.kimi.com/code/docs/en/kimi-code/error-reference.html
{"error":{"type":"access_denied","message":"You've reached your usage limit for this billing cycle"}}
# qwen 400 billing https://github.com/tencentmusic/supersonic/issues/1572
{"error":{"message":"Access denied, please make sure your account is in good standing.","code":"Arrearage"}}
# qwen 400 context_overflow https://github.com/QwenLM/qwen-code/issues/98
{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
"type":"invalid_request_error","code":"invalid_parameter_error"}}
# huggingface 402 billing https://github.com/huggingface/agents-course/issues/386
{"error":"You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more
monthly included credits."}
# together 422 context_overflow https://github.com/stanford-crfm/helm/pull/2079
{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs`
tokens and 30 `max_new_tokens`","type":"invalid_request_error","param":null,"code":null}}
# fireworks 412 billing https://github.com/pollinations/pollinations/issues/12136
{"error":{"message":"Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay
past invoices. Please go to https://fireworks.ai/account/billing","param":null,
"code":"PRECONDITION_FAILED","type":"error"}}
# fireworks 404 model_not_found https://github.com/warpdotdev/warp/issues/15107
{"message":"Model not found, inaccessible, and/or not deployed","param":"model","code":"NOT_FOUND","type":"error"}
# github-models 413 context_overflow https://github.com/eslint/tsc-meetings/pull/593
{"error":{"code":"tokens_limit_reached","message":"Request body too large for gpt-4o model. Max size: 8000 tokens.",
"details":"Request body too large for gpt-4o model. Max size: 8000 tokens."}}
# github-copilot 413 payload_too_large https://github.com/anomalyco/opencode/issues/14064
Request Entity Too Large
# ollama 404 model_not_found https://github.com/abi/screenshot-to-code/issues/354
{"error":{"message":"model \"gpt-4o-2024-11-20\" not found, try pulling it first","type":"api_error","param":null,
"code":null}}
# ollama 404 model_not_found https://github.com/stackblitz-labs/bolt.diy/issues/434
{"error":"model \"claude-3-5-sonnet-latest\" not found, try pulling it first"}
# ollama 404 format_error https://github.com/ollama/ollama/issues/3050
404 page not found
# vllm 404 model_not_found https://github.com/vllm-project/vllm/issues/3485
{"object":"error","message":"The model `Qwen1.5-14B-Chat-GPTQ-Int8` does not exist.","type":"NotFoundError",
"param":null,"code":404}
# vllm 400 context_overflow https://github.com/meta-llama/llama-verifications/issues/58
{"object":"error","message":"This model's maximum context length is 131072 tokens. However, you requested 156632
tokens (152536 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
"type":"BadRequestError","param":null,"code":400}
# vllm 400 context_overflow https://github.com/vllm-project/vllm/issues/4667
{"object":"error","message":"max_tokens must be at least 1, got -186.","type":"BadRequestError","code":400}
# llamacpp 400 context_overflow https://github.com/oobabooga/textgen/issues/7257
{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or
enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}
# llamacpp 500 context_overflow https://github.com/ggml-org/llama.cpp/pull/15780
{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or
enable context shift","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}
# llamacpp 400 tool_schema https://github.com/lidge-jun/opencodex/issues/2135
{"error":{"code":400,"message":"Failed to initialize samplers: failed to parse grammar",
"type":"invalid_request_error"}}
# llamacpp 400 tool_schema https://github.com/aebrer/dreb/pull/422
{"error":{"code":400,"message":"Unable to generate parser for this template. Automatic parser generation failed: JSON
schema conversion failed:\nPattern must start with '^' and end with '$'","type":"invalid_request_error"}}
# openai 400 tool_schema https://github.com/Azure/azure-mcp/issues/197
{"error":{"message":"Invalid schema for function 'azure-azmcp-bestpractices-get': In context=(), object schema missing
properties.","type":"invalid_request_error","param":"tools[19].function.parameters",
"code":"invalid_function_parameters"}}
# openai 400 tool_schema https://github.com/Automattic/wordpress-mcp/issues/103
{"error":{"message":"Invalid schema for function 'mcp_wordpress-mcp_wc_update_product': In context=('properties',
'meta_data', 'items', 'properties', 'value', 'type', '6'), array schema missing items.",
"code":"invalid_function_parameters"}}
# anthropic 400 tool_schema https://github.com/anthropics/claude-code/issues/63673
{"type":"error","error":{"type":"invalid_request_error","message":"tools.21.custom.input_schema: JSON schema is
invalid. It must match JSON Schema draft 2020-12 (https://json-schema.org/draft/2020-12). Learn more about tool use at
https://docs.claude.com/en/docs/tool-use."},"request_id":"req_011CbX3X2dtvKq82jNzF9Trp"}
# anthropic 400 tool_schema https://github.com/langchain-ai/langchain/issues/39271
{"type":"error","error":{"type":"invalid_request_error","message":"tools.0.custom.input_schema: input_schema does not
support oneOf, allOf, or anyOf at the top level"}}
# bedrock 400 tool_schema https://github.com/maximhq/bifrost/issues/1720
{"message":"The json schema definition at toolConfig.tools.1.toolSpec.inputSchema is invalid. Fix the following errors
and try again: $.properties: null found, object expected"}
# gemini 400 tool_schema https://github.com/Ingenimax/agent-sdk-go/pull/319
{"error":{"code":400,"message":"*
GenerateContentRequest.tools[0].function_declarations[7].parameters.properties[labels].items: missing
field.","status":"INVALID_ARGUMENT"}}
# gemini 400 tool_schema https://github.com/reportportal/reportportal-mcp-server/issues/25
{"error":{"code":400,"message":"Unable to submit request because run_auto_analysis functionDeclaration
parameters.analyzer_item_modes schema specified incorrect schema type field. For schema with enum values, schema type
should not be OBJECT or ARRAY.","status":"INVALID_ARGUMENT"}}
# lmstudio 400 context_overflow https://github.com/Gitlawb/openclaude/issues/353
{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>=
n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}
# lmstudio 400 context_overflow https://github.com/anomalyco/opencode/issues/11141
{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}
# lmstudio 404 model_not_found https://github.com/lmstudio-ai/lms/issues/107
{"error":{"message":"No models loaded. Please load a model in the developer page or use the `lms load` command",
"type":"invalid_request_error","param":"model","code":"model_not_found"}}
# lmstudio in-band tool_schema https://github.com/NousResearch/hermes-agent/pull/67349
{"error":{"message":"Failed to initialize samplers: failed to parse grammar"}}
# omlx 400 context_overflow https://github.com/ValueCell-ai/ClawX/issues/658
{"error":{"message":"Prompt too long: 41911 tokens exceeds max context window of 32768 tokens"}}
# llama-api 429 rate_limit https://github.com/meta-llama/llama-models/issues/354
{"title":"Too Many Requests","detail":"You have exceeded the maximum number of tokens allowed within a given time
frame. Wait a bit and try again.","status":429}
"""


@dataclass(frozen=True)
class ErrorBody:
    provider: str
    status: int | None
    body: str
    reason: str
    source: str
    wait: float | None = None

    def __str__(self) -> str:
        return f"{self.provider}-{self.status}-{self.reason}-{self.source.rpartition('/')[2]}"


def _entry(text: str) -> ErrorBody:
    head, _, body = text.partition("\n")
    provider, status, reason, source, *wait = head.split()
    return ErrorBody(
        provider,
        None if status == "in-band" else int(status),
        body.strip().replace("\n", " "),
        reason,
        source,
        float(wait[0].removeprefix("wait=")) if wait else None,
    )


ERROR_BODIES = tuple(_entry(text) for text in _TABLE.split("\n# ")[1:])
