"""A visitor without a browser: Streamlit's own protocol over its WebSocket."""

import asyncio
import json
import time
from collections.abc import Sequence
from typing import Any, Self
from urllib.parse import parse_qs

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from vit.drawing.strokes import Stroke, to_fabric

PATIENCE = 120  # seconds; who waits longer has been forgotten


class Session:
    def __init__(self, socket: ClientConnection, page: str, query: str):
        self.socket = socket
        self.query = query
        self.page = page
        self.page_hash = ""
        self.widgets: dict[str, dict[str, Any]] = {}  # what the browser would remember of each
        self.ids: dict[str, str] = {}  # of the widgets on the page, by label or component
        self.fragments: dict[str, float] = {}  # those that run by themselves, and how often
        self.within: dict[str, str] = {}  # the fragment that a component is in
        self.told = 0
        self.traffic = 0  # bytes of the last run, both ways
        self.exceptions = 0

    @classmethod
    async def open(cls, url: str, page: str = "", query: str = "") -> Self:
        address = url.replace("http", "ws", 1) + "/_stcore/stream"
        session = cls(await connect(address, subprotocols=["streamlit"], max_size=None, compression=None), page, query)
        await session.run()
        return session

    @property
    def drawing(self) -> str:
        """The code of the drawing in the address bar."""
        return parse_qs(self.query).get("d", [""])[0]

    async def run(self, fragment: str = "", **triggered: dict[str, Any]) -> float:
        """One run of the script, with widgets that were just touched by their labels; seconds until it has finished."""
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_name, state.fragment_id = self.query, self.page, fragment
        state.is_auto_rerun, state.page_script_hash = bool(fragment), self.page_hash
        touched = {self.ids[label]: value for label, value in triggered.items()}
        for widget_id, value in (self.widgets | touched).items():
            state.widget_states.widgets.add(id=widget_id, **value)
        began = time.perf_counter()
        sent = message.SerializeToString()
        self.traffic = len(sent)
        await self.socket.send(sent)
        async with asyncio.timeout(PATIENCE):
            while not self._finished(await self._hear()):
                pass
        return time.perf_counter() - began

    async def _hear(self) -> ForwardMsg:
        heard = await self.socket.recv(decode=False)
        self.traffic += len(heard)
        return ForwardMsg.FromString(heard)

    def _finished(self, message: ForwardMsg) -> bool:
        match message.WhichOneof("type"):
            case "script_finished":
                return True
            case "navigation":
                self.page_hash = message.navigation.page_script_hash
            case "page_info_changed":
                self.query = message.page_info_changed.query_string
            case "auto_rerun":
                self.fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            case "delta":
                self._see(message.delta.new_element, message.delta.fragment_id)
        return False

    def _see(self, element: Any, fragment: str) -> None:
        match element.WhichOneof("type"):
            case "bidi_component":
                name, widget_id = element.bidi_component.component_name, element.bidi_component.id
                self.ids |= {name: widget_id, f"{name} events": f"$$STREAMLIT_INTERNAL_KEY_{widget_id}__events"}
                self.within[name] = fragment
            case "button":
                self.ids[element.button.label] = element.button.id
            case "number_input":
                self.ids[element.number_input.label.split(",")[0]] = element.number_input.id
            case "exception":
                self.exceptions += 1

    async def draw(self, strokes: Sequence[Stroke]) -> float:
        """All that is on the canvas now, as the canvas reports it when the pen is lifted."""
        canvas = next(name for name in self.ids if "drawable" in name)
        self.widgets[self.ids[canvas]] = {"json_value": json.dumps({"drawing": {"raw": to_fabric(strokes)}})}
        return await self.run()

    async def tell(self, points: Stroke) -> float:
        """The stroke so far, as our companion of the canvas tells it while the pen is down."""
        self.told += 1
        event = {"event": "stroke", "value": {"number": self.told, "points": [points[0], *points]}}
        return await self.run(self.within["patchwise_live"],
                              **{"patchwise_live events": {"json_trigger_value": json.dumps([event])}})

    async def press(self, label: str) -> float:
        return await self.run(**{label: {"trigger_value": True}})

    async def choose(self, label: str, number: int) -> float:
        self.widgets[self.ids[label]] = {"double_value": number}
        return await self.run()

    async def close(self) -> None:
        await self.socket.close()
