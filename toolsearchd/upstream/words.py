"""Why a server can't be used, in words for people. One line, nothing of the server's that moves a cursor."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from toolsearchd.config.secret_values import SecretValues
from toolsearchd.disclosure.sanitise import plain_line
from toolsearchd.errors import RpcError, ToolsearchdError

NONE = SecretValues(())

_CHARS = 500
_CAUSES = 32  # looked at, of an error that has more
_TRUST = (
    "if that is right, name the file with its certificate, or its authority's, in SSL_CERT_FILE in the "
    "daemon's environment"
)
# X509_V_ERR_… of openssl/x509_vfy.h: what is wrong, and the mend.
_CERTIFICATE = {
    9: ("is not valid yet", "its operator has to replace it, or this machine's clock is wrong"),
    10: ("has expired", "its operator has to renew it, or this machine's clock is wrong"),
    18: ("is self-signed", _TRUST),
    19: ("is signed by an authority that is not known here", _TRUST),
    20: ("is signed by an authority that is not known here", _TRUST),
    21: ("can't be traced to a known authority", "its operator has to send the whole chain"),
    23: ("was revoked", "its operator has to replace it"),
    62: ("is for another name", "the url needs the name that the certificate is for"),
    64: ("is for another address", "the url needs the name or address that the certificate is for"),
}


def words_of(error: BaseException, url: str = "", secrets: SecretValues = NONE) -> str:
    """The telling one of the errors behind what the SDK raised. `url`: of a remote server; of it only host
    and port are said. `secrets`: the server's, which no text shows."""
    for cause in causes_of(error):
        if (text := _network_words(cause, url)) is not None:
            return _line(text, secrets)
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    kind = type(error).__name__
    if isinstance(error, ToolsearchdError):
        text = error.message
    elif kind == "ValidationError":  # pydantic's: many lines about the SDK's classes
        text = "its answer to the handshake is malformed"
    elif isinstance(error, RpcError | RuntimeError):
        text = str(error) or "an error without words"
    else:
        text = f"{kind}: {error}" if str(error) else kind
    return _line(text, secrets)


def trail_of(error: BaseException, secrets: SecretValues) -> str:
    """All errors behind an error, for a debug log."""
    shown = (f"{type(one).__name__}: {one}" for one in causes_of(error))
    return _line(" < ".join(shown), secrets)


def _line(text: str, secrets: SecretValues) -> str:
    """Masked before anything is cut or cleaned: half of a secret would not be known again."""
    return plain_line(secrets.masked(text))[:_CHARS]


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """The errors behind an error, innermost first: members of groups, causes, contexts; each once."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting and len(found) < _CAUSES:
        one = waiting.pop(0)
        if any(one is known for known in found):
            continue
        found.append(one)
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        behind = one.__cause__ or one.__context__  # httpx2 hides the system's error by `from None`
        if behind is not None:
            waiting.append(behind)
    return reversed(found)


def _network_words(error: BaseException, url: str) -> str | None:
    """What an error of the network means; None: it is none. httpx2's are known by their names: it is loaded
    for remote servers only."""
    kind = type(error).__name__
    server, proxy = _addresses(url)
    reached = f"the proxy {proxy}" if proxy else server
    if isinstance(error, ssl.SSLCertVerificationError):
        what, mend = _CERTIFICATE.get(error.verify_code, ("can't be verified", ""))
        said = f" ({error.verify_message})" if error.verify_message else ""
        return f"can't connect to {server}: its certificate {what}{said}" + (f"; {mend}" if mend else "")
    if isinstance(error, ssl.SSLError):
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
            return f"can't connect to {server}: what answers there speaks no TLS; is the url one of http://?"
        said = (error.reason or str(error)).replace("_", " ").lower()
        return f"can't connect to {server}: TLS failed ({said})"
    if isinstance(error, socket.gaierror):
        return f"can't connect to {reached}: its name can't be resolved ({error.strerror}); check it, and DNS"
    if isinstance(error, ConnectionRefusedError):
        return f"can't connect to {reached}: connection refused, nothing listens there"
    if kind in ("ConnectTimeout", "PoolTimeout"):
        return f"can't connect to {reached}: no answer in time"
    if kind == "ProxyError":
        hint = "; it wants a login, in the proxy's url" if str(error).startswith("407") else ""
        return f"the proxy {proxy or '(of the environment)'} lets nobody through to {server}: {error}{hint}"
    if kind == "ConnectError":
        return f"can't connect to {reached}: {_system_words(error)}"
    if kind in ("RemoteProtocolError", "ReadError"):
        hint = "; is the url one of https://?" if url.startswith("http:") else ""
        return f"{server} ended the connection without an answer{hint}"
    return None


def _system_words(error: BaseException) -> str:
    for cause in causes_of(error):
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
    return str(error) or "no reason given"


def _addresses(url: str) -> tuple[str, str]:
    """host:port of the url, and of the proxy that leads there, if any."""
    try:
        to = urlsplit(url)
        host = to.hostname or "the server"
        proxies = {} if to.hostname is None or proxy_bypass(to.hostname) else getproxies()
        via = urlsplit(proxies.get(to.scheme) or proxies.get("all") or "")
        return _with_port(host, to.port), _with_port(via.hostname, via.port) if via.hostname else ""
    except ValueError:
        return "the server", ""


def _with_port(host: str, port: int | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port is None else f"{shown}:{port}"


def words_of_spawn_error(error: OSError | ValueError, command: str, secrets: SecretValues = NONE) -> str:
    """The system's words, and which of the two names it means: the command or its working directory."""
    where, text = "", str(error)
    if isinstance(error, OSError):
        text = error.strerror or text
        where = f" in {error.filename}" if error.filename and str(error.filename) != command else ""
    return _line(f"{command} can't be started{where}: {text}", secrets)


def words_of_end(returncode: int | None) -> str:
    """How a process that was connected has ended; None: it lives."""
    if returncode is None:
        return "it closed its output"
    if returncode < 0:
        return f"it was ended by signal {-returncode}"
    return f"it exited with status {returncode}"
