"""How torch computes recurrent layers from given states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jostle.frameworks.backends.program import Call, Expression, Unsupported

SETTINGS = "has_biases=True, num_layers=1, dropout=0.0, train=True, bidirectional=False, batch_first=False"


def _layer(call: Call, function: str, biases: Sequence[str], states: Sequence[str]) -> str:
    """torch goes backwards only beside going forwards, so what it is given and gives is turned around."""
    reverse = call.attributes["reverse"]
    x = f"torch.flip({call[0]}, [0])" if reverse else call[0]
    first = [f"{state}[None]" for state in states]
    state = first[0] if len(first) == 1 else f"[{', '.join(first)}]"
    found = f"torch.{function}({x}, {state}, [{call[1]}, {call[2]}, {', '.join(biases)}], {SETTINGS})[0]"
    return f"torch.flip({found}, [0])" if reverse else found


def _lstm(call: Call) -> str:
    if call.attributes["clip"]:
        raise Unsupported("clips no gates")
    return _layer(call, "lstm", [call[3], f"torch.zeros_like({call[3]})"], [call[4], call[5]])


def _gru(call: Call) -> str:
    if not call.attributes["reset_after"]:
        raise Unsupported("resets what comes of the state, not the state")
    half = 3 * call.type.shape[2]
    return _layer(call, "gru", [f"{call[3]}[:{half}]", f"{call[3]}[{half}:]"], [call[4]])


def _rnn(call: Call) -> str:
    function = f"rnn_{call.attributes['activation']}"
    return _layer(call, function, [call[3], f"torch.zeros_like({call[3]})"], [call[4]])


RECURRENT: Mapping[str, Expression] = {"rnn_from": _rnn, "lstm_from": _lstm, "gru_from": _gru}
