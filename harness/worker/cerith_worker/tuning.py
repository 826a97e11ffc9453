"""Changes kernels for a sweep: no specialisation on their arguments, or only one of their configurations."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from .recorder import Unsupported


def _layers(kernel: Any) -> Iterator[Any]:
    """The kernel, and what its decorators wrap, outermost first."""
    while hasattr(kernel, "fn"):
        yield kernel
        kernel = kernel.fn


def count_configurations(kernel: Any) -> int:
    """How many configurations the kernel's autotuner has; 0 where there is none."""
    return max((len(layer.configs) for layer in _layers(kernel) if hasattr(layer, "configs")), default=0)


def tune(kernel: Any, specialize: bool, config: int | None) -> None:
    """Changes a kernel that has never been launched, and that ends with its module."""
    for layer in _layers(kernel):
        if config is not None and config < len(getattr(layer, "configs", ())):
            _keep(layer, config)
        if not specialize:
            for parameter in getattr(layer, "params", ()):
                # Later versions refuse it of a constexpr.
                if not parameter.is_constexpr:
                    parameter.do_not_specialize = True
                    # From 3.2 on; unknown before, and no harm.
                    parameter.do_not_specialize_on_alignment = True


def _keep(tuner: Any, config: int) -> None:
    wanted = tuner.configs[config]
    prune = tuner.prune_configs

    def prune_all_but(kwargs: Mapping[str, Any]) -> list[Any]:
        if not any(kept is wanted for kept in prune(kwargs)):
            raise Unsupported("the autotuner's own pruning leaves this configuration out")
        return [wanted]

    tuner.prune_configs = prune_all_but
