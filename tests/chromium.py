"""A headless Chromium, spoken to over its DevTools pipe: no driver, no further package."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# WebGL without a graphics card.
SOFTWARE_GL = ("--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist")
# The browser reads commands from file 3 and answers on file 4.
_LAUNCH = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_PATIENCE_S = 60.0


def find() -> str | None:
    """The program, if there is one on this machine."""
    return next((path for name in _NAMES if (path := shutil.which(name))), None)


class Chromium:
    """One browser with one page; `problems` holds what its console had to complain of, `requests` what it loaded."""

    def __init__(self, program: str, profile: Path, *more: str) -> None:
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        # Above the numbers that the browser's ends are moved to.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
        self._log = (profile / "stderr.txt").open("w")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                _LAUNCH,
                *map(str, ends),
                program,
                *(option for option in _OPTIONS if not more or option != "--disable-gpu"),
                *more,
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            pass_fds=ends,
            stdout=self._log,
            stderr=self._log,
        )
        for end in (theirs_in, theirs_out, *ends):
            os.close(end)
        self._in, self._out = ours_in, ours_out
        self._buffer = b""
        self._count = 0
        self._session: str | None = None
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._loaded = False
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._session = None
        self.call("Browser.close")
        self._process.wait(_PATIENCE_S)
        os.close(self._in)
        os.close(self._out)
        self._log.close()

    def open(
        self, path: Path | str, *, width: int = 1280, height: int = 900, dark: bool = False, until: str = "true"
    ) -> None:
        """Open a file or address as a desktop or, if narrow, a phone shows it; `until`: a condition in JavaScript."""
        self.problems, self.requests = [], []
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self._loaded = False
        self.call("Page.navigate", url=path if isinstance(path, str) else path.absolute().as_uri())
        self._pump(lambda: self._loaded)
        self.wait(until)

    def wait(self, condition: str) -> None:
        """Wait until a condition in JavaScript holds. One that throws, of a document not there yet, say, does not."""
        end = time.monotonic() + _PATIENCE_S
        while not (done := self._evaluate(condition))["result"].get("value") or "exceptionDetails" in done:
            assert time.monotonic() < end, f"never true: {condition}; {done}; {self.problems}"
            time.sleep(0.02)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page."""
        done = self._evaluate(script)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def _evaluate(self, script: str) -> dict[str, Any]:
        return self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)

    def mouse(self, kind: str, x: float, y: float, *, pressed: bool = False, clicks: int = 0) -> None:
        """Move, press or release the pointer at a place of the window."""
        button = "left" if clicks or pressed else "none"
        held = 1 if pressed or kind == "mousePressed" else 0
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=clicks)

    def click(self, x: float, y: float, *, clicks: int = 1) -> None:
        self.mouse("mouseMoved", x, y)
        for count in range(1, clicks + 1):
            self.mouse("mousePressed", x, y, clicks=count)
            self.mouse("mouseReleased", x, y, clicks=count)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.mouse("mouseMoved", *start)
        self.mouse("mousePressed", *start, clicks=1)
        for share in (0.25, 0.5, 0.75, 1.0):
            x, y = (a + share * (b - a) for a, b in zip(start, end, strict=True))
            self.mouse("mouseMoved", x, y, pressed=True)
        self.mouse("mouseReleased", *end, clicks=1)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """A PNG of the window, or of the whole page."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pdf(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the DevTools protocol and its answer."""
        self._count += 1
        number = self._count
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        answer: dict[str, Any] = {}
        self._pump(lambda: bool(answer), number, answer)
        assert "error" not in answer, answer["error"]
        result: dict[str, Any] = answer["result"]
        return result

    def _pump(self, done: Any, number: int = 0, answer: dict[str, Any] | None = None) -> None:
        """Read messages until `done`."""
        end = time.monotonic() + _PATIENCE_S
        while not done():
            ready, _, _ = select.select([self._in], [], [], max(end - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            data = os.read(self._in, 1 << 20)
            assert data, "the browser has gone"
            *messages, self._buffer = (self._buffer + data).split(b"\0")
            for text in messages:
                message = json.loads(text)
                if message.get("id") == number and answer is not None:
                    answer.update(message)
                self._note(message.get("method"), message.get("params", {}))

    def _note(self, event: str | None, told: dict[str, Any]) -> None:
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Network.requestWillBeSent":
            self.requests.append(told["request"]["url"])
        elif event == "Log.entryAdded" and told["entry"]["level"] in {"error", "warning"}:
            self.problems.append(told["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning", "assert"}:
            self.problems.append(str([argument.get("value") for argument in told["args"]]))
        elif event == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.problems.append(details.get("exception", {}).get("description", details["text"]))
