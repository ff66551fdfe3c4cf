"""Headers and arrays become Flower's records, and back. Arrays travel as raw bytes; their sizes are compared first."""

import json
import math
from collections.abc import Mapping

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict
from numpy.typing import NDArray

from fedclade.wire import Arrays, Form, quote

ENROL = "enrol"  # the one message that is no verb: a node says which client it is
RAW = "fedclade.raw"  # how an array is written: its bytes, in C order; the dtype says which end comes first
MAX_HEADER_LENGTH = 2**16  # characters, of a reply
MAX_REQUEST_LENGTH = 2**24  # characters: a request may name many columns and thresholds
REQUEST_TYPES = {"rows": np.float32, "preparation": np.uint8}
LATE = 3  # Flower's error code of a message that expired
ERRORS = {2: "its code raised an exception", LATE: "no answer in time", 5: "its node is gone"}


def kind_of(name: str) -> str:
    """How Flower routes a verb, or an enrolment: by category and action."""
    return name if name in ("train", "evaluate") else f"query.{name}"


def pack_message(header: Mapping[str, object], arrays: Arrays) -> RecordDict:
    """The content of one message."""
    raw = {
        name: Array(dtype=array.dtype.str, shape=tuple(array.shape), stype=RAW, data=array.tobytes())
        for name, array in arrays.items()
    }
    return RecordDict({"header": ConfigRecord({"json": json.dumps(header)}), "arrays": ArrayRecord(raw)})


def header_in(content: RecordDict, max_length: int = MAX_HEADER_LENGTH) -> dict[str, object]:
    """The header of a message, or ValueError."""
    record = content.config_records.get("header")
    text = None if record is None else record.get("json")
    if not isinstance(text, str) or len(text) > max_length:
        raise ValueError("no header" if not isinstance(text, str) else f"header: got {len(text)} characters")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("the header is not JSON") from None
    if not isinstance(header, dict):
        raise ValueError("no header")
    return header


def arrays_in(content: RecordDict, forms: Mapping[str, Form]) -> dict[str, NDArray[np.generic]]:
    """The arrays of a message of such types, or ValueError; their shapes and values are for the gate."""
    record: Mapping[str, Array] = content.array_records.get("arrays", {})
    if set(record) != set(forms) or len(content.array_records) > 1:
        raise ValueError(f"arrays: need {sorted(forms)}")
    found: dict[str, NDArray[np.generic]] = {}
    for name, form in forms.items():
        array, dtype = record[name], np.dtype(form.dtype)
        shape = tuple(array.shape)
        if array.stype != RAW or array.dtype != dtype.str:
            raise ValueError(f"{name}: got {quote(array.dtype)} as {quote(array.stype)}, need {dtype} as {RAW}")
        if not all(type(length) is int and 0 <= length <= form.max_bytes for length in shape):
            raise ValueError(f"{name}: got shape {str(shape)[:60]}, need {form.shape}")
        if len(array.data) != math.prod(shape) * dtype.itemsize:
            raise ValueError(f"{name}: got {len(array.data)} bytes, need {math.prod(shape) * dtype.itemsize}")
        found[name] = np.frombuffer(array.data, dtype).reshape(shape)
    return found


def request_arrays_in(content: RecordDict) -> dict[str, NDArray[np.generic]]:
    """What the server sent along: models, and how rows of a table become inputs."""
    record: Mapping[str, Array] = content.array_records["arrays"]
    if "preparation" in record and len(record["preparation"].data) > MAX_REQUEST_LENGTH:
        raise ValueError(f"preparation: got {len(record['preparation'].data)} bytes, need at most {MAX_REQUEST_LENGTH}")
    return {
        name: np.frombuffer(record[name].data, dtype).reshape(record[name].shape)
        for name, dtype in REQUEST_TYPES.items()
        if name in record
    }


def reply_header_in(message: Message | str, node: int) -> dict[str, object]:
    """The header of a message from this node, or ValueError with what went wrong; text says why there is no message."""
    if isinstance(message, str):
        raise ValueError(message)
    if message.has_error():
        raise ValueError(ERRORS.get(message.error.code, f"Flower: {quote(str(message.error.reason))}"))
    if message.metadata.src_node_id != node:
        raise ValueError("client: the reply came from another node")
    header = header_in(message.content)
    if "failure" in header:
        raise ClientFailed(f"the client failed: {quote(header['failure'])}")
    return header


class ClientFailed(ValueError):
    """A client said that its code raised an exception."""
