"""One route compiled against one fleet view."""

import msgspec

from proa.domain.request import RouteRequest
from proa.routing.admission.priority import WaitingTerms
from proa.routing.candidates import Catalogue, PathFamily, path_family
from proa.routing.decision import RETRY_AFTER_S, Choice, Refusal, RouteMatch, header_text
from proa.routing.rules import compile_checks
from proa.routing.spec import RouteSpec


class Route:
    """Answers which engines may serve a request of this route.

    Answers are kept per model and path family; only models that some engine lists
    are kept, so that clients can't grow the table.
    """

    def __init__(self, spec: RouteSpec, catalogue: Catalogue, policy: str) -> None:
        self.checks = compile_checks(spec.match, catalogue.adapters)
        self._spec = spec
        self._catalogue = catalogue
        self._family = None if spec.rewrite_path is None else path_family(spec.rewrite_path)
        self._found: dict[tuple[str | None, PathFamily], RouteMatch | Refusal] = {}
        self._choices = _choices(spec, catalogue, policy)
        self._waiting = WaitingTerms(spec.priority, spec.max_wait_s)

    def resolve(self, request: RouteRequest) -> RouteMatch | Refusal:
        """The match of a request that holds all checks."""
        family = self._family
        if family is None:
            family = path_family(request.path)
        found = self._found.get((request.model, family))
        return found if found is not None else self._look_up(request.model, family)

    def _look_up(self, asked: str | None, family: PathFamily) -> RouteMatch | Refusal:
        found = self._compile(asked, family)
        if asked is None or asked == self._spec.model or asked in self._catalogue.all_models:
            self._found[asked, family] = found
        return found

    def _compile(self, asked: str | None, family: PathFamily) -> RouteMatch | Refusal:
        """The match of the route's or the asked model, and after it those of its other models.

        A model that no engine has ever listed is the client's fault and falls back on nothing.
        """
        spec = self._spec
        first = asked if spec.model is None else spec.model
        found = self._match(first, family, rewrites=first != asked)
        if isinstance(found, Refusal) and spec.model is None and self._is_unknown(first):
            return found
        following: RouteMatch | None = None
        for model in reversed(spec.fallback_models):
            other = self._match(model, family, rewrites=True)
            if model != first and isinstance(other, RouteMatch):
                following = msgspec.structs.replace(_told(other, model), fallback=following)
        if following is None or isinstance(found, Refusal):
            return following or found
        return msgspec.structs.replace(found, fallback=following)

    def _is_unknown(self, model: str | None) -> bool:
        return model is not None and model not in self._catalogue.all_models

    def _match(
        self, model: str | None, family: PathFamily, *, rewrites: bool
    ) -> RouteMatch | Refusal:
        spec, catalogue = self._spec, self._catalogue
        serving = [i for i in self._choices if catalogue.serves(i, model)]
        good = serving
        if spec.min_quality is not None:
            good = [i for i in serving if catalogue.reaches(i, model, spec.min_quality)]
        fitting = catalogue.fitting(good, family, model)
        pool = tuple(i for i in fitting if catalogue.engines[i].state.takes_traffic)
        if not pool:
            return self._refusal(model, bool(serving), bool(good))
        preferred = tuple(i for i in pool if catalogue.engines[i].name in spec.prefer)
        contexts = catalogue.contexts(pool, model)
        return RouteMatch(
            route=spec.name,
            rewrite_path=spec.rewrite_path,
            model=model,
            rewrites_model=rewrites,
            rewrites=rewrites or spec.rewrite_path is not None,
            fallback_on=spec.fallback_on,
            pool=pool,
            preferred=() if len(preferred) == len(pool) else preferred,
            overflow_when=spec.overflow_when if spec.overflow_when.asks else None,
            contexts=contexts,
            least_context_tokens=min(contexts.values(), default=None),
            choices=self._choices,
            waiting=self._waiting,
        )

    def _refusal(self, model: str | None, serving: bool, good: bool) -> Refusal:
        spec, catalogue = self._spec, self._catalogue
        if model is not None and self._choices and not serving:
            message = f"The model `{model}` does not exist"
            if model in catalogue.all_models:
                message = f"The model `{model}` is not served by route `{spec.name}`"
            return Refusal(404, "model_not_found", message)
        if model is not None and serving and not good:
            floor = f"the minimum quality {spec.min_quality:g} of route `{spec.name}`"
            message = f"The model `{model}` is not known to reach {floor}"
            return Refusal(404, "model_below_min_quality", message)
        what = f" for the model `{model}`" if model is not None else ""
        message = f"No engine of route `{spec.name}` is ready{what}"
        return Refusal(503, "no_engine_ready", message, RETRY_AFTER_S, self._waiting)


def _told(match: RouteMatch, model: str) -> RouteMatch:
    """The match of a fallback model, whose choices say so."""
    choices = {
        index: msgspec.structs.replace(
            choice, reason=f"{choice.reason} fallback={header_text(model)}"
        )
        for index, choice in match.choices.items()
    }
    return msgspec.structs.replace(match, choices=choices)


def _choices(spec: RouteSpec, catalogue: Catalogue, policy: str) -> dict[int, Choice]:
    """The engines that a route may use, with what is told of each choice."""
    choices = {}
    ordered = spec.prefer or spec.overflow
    for index, engine in enumerate(catalogue.engines):
        if engine.name in spec.prefer:
            via = "prefer"
        elif engine.name in spec.overflow:
            via = "overflow"
        elif ordered:
            continue
        else:
            via = "any"
        reason = f"route={header_text(spec.name)} policy={policy} via={via}"
        choices[index] = Choice(index, engine.name, header_text(engine.name), reason)
    return choices
