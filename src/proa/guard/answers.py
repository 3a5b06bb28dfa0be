"""Whole answers of every API: each text masked and restored where it stands."""

from collections.abc import Iterator

from proa.guard.answer_editor import AnswerEditor, Edit
from proa.guard.answer_fields import is_document, is_echo, is_kept
from proa.guard.body_text import BodyText, DocumentText, string_text
from proa.guard.finding import Finding
from proa.guard.json_text import JsonPlace, Path, UnreadableBody, checked, places


def edited_answer(body: bytes, editor: AnswerEditor, content_type: bytes = b"") -> bytes:
    """The answer for the client: the very object that was given where nothing changes.

    JSON is walked, text is taken as it is, anything else (sound, images) passes. Token
    probabilities and ids that stand beside a changed text are left out.

    Raises:
        UnreadableBody: it is said to be JSON or text and is neither, so it may not pass.
    """
    if editor.is_idle or not body:
        return body
    kind = content_type.split(b";", 1)[0].strip().lower()
    if kind.endswith(b"json") or not kind:
        text = checked(body, is_lenient=True)
        return rewritten(text, json_edits(text, editor), body)
    if kind.startswith(b"text/"):
        try:
            text = body.decode()
        except UnicodeDecodeError:
            raise UnreadableBody("the answer is not valid UTF-8") from None
        return rewritten(text, editor.edits(text), body)
    return body


def rewritten(text: str, edits: list[Edit], body: bytes) -> bytes:
    """`text`, which `body` encodes, with its edits."""
    if not edits:
        return body
    pieces: list[str] = []
    at = 0
    for edit in edits:
        pieces += text[at : edit.start], edit.new
        at = edit.end
    return "".join((*pieces, text[at:])).encode()


def json_edits(text: str, editor: AnswerEditor) -> list[Edit]:
    """The edits of a JSON text, in its characters."""
    edits: list[Edit] = []
    echoes: list[Edit] = []
    for place in places(text, _is_whole):
        if place.is_document and is_echo(place.path):
            echoes.append(without(text, place))
        elif not is_kept(place.path):
            edits += place_edits(text, place, editor)
    return sorted(edits + echoes, key=_start) if edits else []


def without(text: str, echo: JsonPlace) -> Edit:
    """An echo left out."""
    return Edit(echo.start, echo.end, "[]" if text[echo.start] == "[" else "null")


def place_edits(text: str, place: JsonPlace, editor: AnswerEditor) -> Iterator[Edit]:
    """The edits of one place of a JSON text, in its characters."""
    raw = text[place.start : place.end]
    said: BodyText = (DocumentText if place.is_document else string_text)(raw, place.start)
    for edit in editor.edits(said.text):
        new = edit.new
        for hit in said.hits((Finding("", edit.start, edit.end, 1.0),)):
            yield Edit(hit.start, hit.end, hit.written(new))
            new = ""


def _is_whole(path: Path) -> bool:
    return is_echo(path) or is_document(path)


def _start(edit: Edit) -> int:
    return edit.start
