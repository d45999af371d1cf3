"""From settings to a client of the agent library, its hidden retries off and its reports observed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from autogen_core.models import ChatCompletionClient, ModelFamily, ModelInfo

from ..settings import ModelSettings
from . import observed
from .observed import Reported


class ModelUnavailableError(Exception):
    """A model cannot be asked: a package or a key is missing. The message says what to do."""


@dataclass(frozen=True)
class Connection:
    """A client of the agent library, what its provider reports, and the arguments of each call beside the messages."""

    client: ChatCompletionClient
    reported: Reported
    stream_arguments: Mapping[str, Any]
    raised: tuple[type[Exception], ...]
    """What a call can raise: the provider's errors, the network's, and those of reading what came back."""


READING = (ValueError, TypeError, AttributeError, LookupError, AssertionError, OSError, TimeoutError)
"""What the libraries raise when a provider's answer is not what they expect, and when the network fails under them."""


def key_of(settings: ModelSettings, environment: Mapping[str, str]) -> str | None:
    """The key from the environment; raises ModelUnavailableError when the model needs one and there is none."""
    if settings.key_variable is None:
        return None
    key = environment.get(settings.key_variable, "").strip()
    if not key:
        raise ModelUnavailableError(
            f"{settings.provider} model {settings.model} needs a key: set the environment variable {settings.key_variable}"
        )
    return key


def connect(settings: ModelSettings, environment: Mapping[str, str]) -> Connection:
    """A connection to a model; raises ModelUnavailableError."""
    key = key_of(settings, environment)
    try:
        match settings.provider:
            case "anthropic":
                return _anthropic(settings, key)
            case "ollama":
                return _ollama(settings)
            case _:
                return _openai(settings, key)
    except ImportError as error:
        raise ModelUnavailableError(
            f"the client of {settings.provider} is not installed ({error.name}): run `pip install 'kernelwright[models]'`"
        ) from error


def model_info(settings: ModelSettings) -> ModelInfo:
    """What the library asks of a model before it uses it. Families only change how names and roles are written."""
    return ModelInfo(
        vision=False,
        function_calling=settings.tools,
        json_output=settings.structured,
        family=ModelFamily.UNKNOWN,
        structured_output=settings.structured,
        multiple_system_messages=False,
    )


def _openai(settings: ModelSettings, key: str | None) -> Connection:
    import openai
    from autogen_ext.models.openai import BaseOpenAIChatCompletionClient

    raw: Any
    if settings.provider == "azure":
        raw = openai.AsyncAzureOpenAI(
            api_key=key,
            azure_endpoint=settings.base_url or "",
            api_version=settings.api_version,
            azure_deployment=settings.deployment,
            max_retries=0,
            timeout=settings.timeout_seconds,
        )
    else:
        raw = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=settings.base_url or "https://api.openai.com/v1",
            max_retries=0,
            timeout=settings.timeout_seconds,
        )
    reported = Reported()
    limit = "max_completion_tokens" if settings.provider in ("openai", "azure") else "max_tokens"
    client = BaseOpenAIChatCompletionClient(
        cast(Any, observed.OpenAI(raw, reported, settings.answer_bytes)),
        create_args={"model": settings.model, limit: settings.max_tokens, **_temperature(settings)},
        model_info=model_info(settings),
        include_name_in_message=settings.provider in ("openai", "azure"),
    )
    network = _network_errors()
    return Connection(client, reported, {"include_usage": True}, (openai.OpenAIError, *network, *READING))


def _anthropic(settings: ModelSettings, key: str | None) -> Connection:
    import anthropic
    from autogen_ext.models.anthropic import BaseAnthropicChatCompletionClient

    raw = anthropic.AsyncAnthropic(
        api_key=key,
        base_url=settings.base_url or "https://api.anthropic.com",
        max_retries=0,
        timeout=settings.timeout_seconds,
    )
    reported = Reported()
    client = BaseAnthropicChatCompletionClient(
        cast(Any, observed.Anthropic(raw, reported, settings.answer_bytes)),
        create_args={"model": settings.model, "max_tokens": settings.max_tokens, **_temperature(settings)},
        model_info=model_info(settings),
    )
    return Connection(client, reported, {}, (anthropic.AnthropicError, *_network_errors(), *READING))


def _ollama(settings: ModelSettings) -> Connection:
    import ollama
    from autogen_ext.models.ollama._ollama_client import BaseOllamaChatCompletionClient

    raw = ollama.AsyncClient(host=settings.base_url or "http://127.0.0.1:11434", timeout=settings.timeout_seconds)
    reported = Reported()
    options = {"num_predict": settings.max_tokens, **_temperature(settings)}
    client = BaseOllamaChatCompletionClient(
        cast(Any, observed.Ollama(raw, reported, settings.answer_bytes)),
        create_args={"model": settings.model, "options": options},
        model_info=model_info(settings),
    )
    return Connection(client, reported, {}, (ollama.ResponseError, *_network_errors(), *READING))


def _temperature(settings: ModelSettings) -> dict[str, float]:
    return {} if settings.temperature is None else {"temperature": settings.temperature}


def _network_errors() -> tuple[type[Exception], ...]:
    """The base errors of the HTTP libraries that the providers' clients use; a stream raises them as they are."""
    found: list[type[Exception]] = []
    for name in ("httpx", "httpx2"):
        try:
            library = __import__(name)
        except ImportError:  # this client uses another one
            continue
        found.extend((library.HTTPError, library.StreamError))
    return tuple(found)
