"""The OpenAPI document of the admin API, made from the table of its operations."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from proa.control.admin import Operation
from proa.control.admin_documents import ErrorDocument

_REF = "#/components/schemas/{model}"
_GUARDS = (401, 403)
_OF_CHANGES = (415, 500)
_TOLD = {
    400: "A value that is not accepted, or a file that cannot be used",
    401: "An admin key is needed",
    403: "The key is no admin key, or the call is not from here",
    404: "There is no such engine",
    409: "The engine is there already, or is leaving",
    413: "The body is too long",
    415: "Changes need content-type: application/json",
    500: "proa itself failed",
}


def openapi_document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    """OpenAPI 3.1; every model stands once under its class's name."""
    models: list[type[BaseModel]] = [ErrorDocument]
    for operation in operations:
        models += [operation.answer, *([operation.body] if operation.body else [])]
    _, schemas = models_json_schema(
        [(model, "validation") for model in dict.fromkeys(models)], ref_template=_REF
    )
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "proa admin API", "version": version},
        "security": [{"admin_key": []}, {}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"admin_key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    told: dict[str, Any] = {
        "operationId": _identity(operation),
        "summary": operation.summary,
        "parameters": list(_parameters(operation)),
        "responses": {str(operation.status): _content("Done", operation.answer)},
    }
    errors = {*_GUARDS, *operation.errors, *(_OF_CHANGES if operation.changes else ())}
    for status in sorted(errors):
        told["responses"][str(status)] = _content(_TOLD[status], ErrorDocument)
    if operation.body is not None:
        told["requestBody"] = {"required": True} | _content("", operation.body)
        del told["requestBody"]["description"]
    return told


def _identity(operation: Operation) -> str:
    words = operation.path.strip("/").replace("{", "").replace("}", "").replace("/", "_")
    return f"{operation.method.lower()}_{words.replace('.', '_')}"


def _parameters(operation: Operation) -> Iterable[dict[str, Any]]:
    if "{name}" in operation.path:
        yield _parameter("name", "path", "string", "The engine's name")
    for name, kind, told in operation.query:
        yield _parameter(name, "query", kind, told)


def _parameter(name: str, place: str, kind: str, told: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": told,
        "schema": {"type": kind},
    }


def _content(told: str, model: type[BaseModel]) -> dict[str, Any]:
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"description": told, "content": {"application/json": {"schema": schema}}}
