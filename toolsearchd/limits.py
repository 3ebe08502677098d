"""Every bound of the daemon, in one struct: value, unit in the name, reason beside it.

`limits:` in config.yaml may set any of these by name; all but the `LIVE` ones from the next start on.
"""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    # --- agent protocol -------------------------------------------------------------------------
    frame_bytes_before_hello: int = (
        64 * 1024
    )  # a hello with 300 tool names fits; a stranger can't make us hold more
    frame_bytes: int = 8 * 1024 * 1024  # D-Bus allows 128 MiB, LSP servers seldom pass 4; images pass whole
    sessions: int = 64  # eight agents at once are normal, sub-agents multiply
    open_requests: int = 16  # a session's window; the next gets BUSY
    outstanding_bytes: int = 16 * 1024 * 1024  # what one peer may make us hold before reading from it stops
    hello_timeout_s: float = 10.0  # a local process says hello at once; an idle connection is a mistake
    write_stall_s: float = 30.0  # a peer that reads nothing for this long is cut
    write_total_s: float = 300.0  # 8 MiB outstanding for longer: cut, however slowly it reads
    turn_s: float = 0.001  # of a peer that sends without pause, then the others: 64 such add 64 ms at most
    queries_per_search: int = 16
    names_per_describe: int = 32
    entries_per_call: int = 64
    query_chars: int = 4096  # longer queries are cut: no tool is named by its 4,097th character
    fruitless_searches: int = 3  # in a row without a call: two rewordings are worth it, then "not present"
    remembered_queries: int = 256  # of a session, to know one that comes again; 16 bytes each
    instructions_chars: int = 4000  # of a server's own words on how to use it
    own_name_chars: int = 256  # of what a peer calls itself, its version or its model: a line to look at
    own_names: int = 32  # … of capabilities, roots, globs: of each kind
    path_chars: int = 4096  # of a directory that a client says that it works in: PATH_MAX
    path_depth: int = 100  # … every directory above it is looked at
    watched_resources: int = 256  # of one MCP client: each is remembered here and at its server
    # --- servers --------------------------------------------------------------------------------
    started_servers: int = 128  # of more, the rest is `not_started`
    concurrent_starts: int = (
        4  # servers between fork and first byte (2 cores: more only makes all of them late)
    )
    start_slot_s: float = 3.0  # … each for so long at most
    line_bytes: int = 8 * 1024 * 1024  # one JSON-RPC message
    junk_bytes: int = (
        256 * 1024 * 1024  # output in a row that is no message: more is a flood, and ends the connection
    )
    stderr_ring_bytes: int = 64 * 1024
    stop_stdin_s: float = 2.0  # close stdin, wait, SIGTERM, wait, SIGKILL
    stop_term_s: float = 2.0
    orphan_look_s: float = 5.0  # between looks at what servers started; behind a start they come sooner
    orphan_sweep_s: float = 6.0  # for what a dead daemon left: SIGTERM, stop_term_s, then SIGKILL
    discover_timeout_s: float = 2.0
    tools_per_server: int = 20_000  # the largest real one seen has 2,540
    list_pages: int = 1_000
    list_bytes: int = (
        64 * 1024 * 1024
    )  # of one server's tools: 20,000 of 3 KiB; the largest real list takes 3
    cursor_chars: int = 4096  # of a page's: a token or an offset; ten times the longest seen
    rejected_tools: int = 100  # whose faults are told one by one; of more, their number
    offers_bytes: int = 4 * 1024 * 1024  # of one server's prompts or resources: 10,000 files' names
    offered_bytes: int = 8 * 1024 * 1024  # … and of all servers' together, in one session
    offers_timeout_s: float = 20.0  # a server's list of prompts or resources: all clients' lists wait for it
    asked_at_once: int = 8  # questions of one server to a client: a person answers one after the other
    list_changes: int = 10  # of one server in list_change_window_s; a list that flips more often is frozen
    list_change_window_s: float = 60.0
    session_renewals: int = 3  # of a remote server's session, at once, in a row, none of which was of use
    session_claims: int = 3  # of a remote server, that its session ended, which are believed for their words
    session_claims_window_s: float = 60.0  # … within this
    list_min_interval_s: float = 1.0  # list_changed storms: one listing in flight, one pending
    first_connect_delays_s: tuple[float, ...] = (1.0, 2.0, 4.0)
    reconnect_delays_s: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)
    reconnect_jitter: float = 0.2
    parked_probe_s: float = 300.0  # a lost server that does not come back
    cooldown_s: float = 30.0  # one that never connected: doubling per failure …
    cooldown_max_s: float = 600.0  # … up to this
    breaker_failures: int = 3
    breaker_open_s: float = 60.0
    progress_per_s: float = 4.0  # per entry, after a first few; the rest is coalesced
    # --- definitions ----------------------------------------------------------------------------
    schema_depth: int = 128  # pydantic fails past 190, msgspec past ~1,000
    validation_depth: int = 200  # of schema and of instance
    validation_nodes: int = 20_000
    validation_bytes: int = 1024 * 1024
    validation_branches: int = 10_000  # product of nested anyOf/allOf/oneOf
    analysed_bytes: int = 256 * 1024  # of a description: analysis and counting see no more
    # --- calls ----------------------------------------------------------------------------------
    call_timeout_s: float = 300.0  # without an answer or progress
    max_call_s: float = 3600.0  # … in all, of a call that goes on reporting progress: a long build or crawl
    entries_at_once: int = 16  # of one batch on their way: twice what a server takes by default
    queued_entries: int = 1024  # per session: 16 open requests of 64
    result_text_bytes: int = 100_000  # of a result's text in the reply: 25,000 tokens; the whole is in a file
    spill_bytes: int = 64 * 1024 * 1024  # of such files, per session: eight of the longest results
    spill_s: float = 3600.0  # … each is kept so long at most
    resolve_bytes: int = 1024 * 1024  # of one in a reply
    pending_approvals: int = 32  # per session: nobody reads the thirty-third prompt of a burst
    journal_records: int = 2048  # that wait to be written: 16 open requests of 64 calls, starts and ends
    journal_gather_s: float = 0.05  # records that nobody waits for are written together, so far apart
    journal_tail_bytes: int = 8 * 1024 * 1024  # read at a start: 20,000 calls, in a tenth of a second
    approval_answer_s: float = 300.0  # a prompt that somebody can hear, and its longest life
    # --- config ---------------------------------------------------------------------------------
    user_file_bytes: int = 128 * 1024 * 1024  # some clients keep their history in it
    project_file_bytes: int = 1024 * 1024
    word_list_bytes: int = 1024 * 1024  # twenty times the daemon's own longest list
    settle_s: float = 0.1  # quiet time after a file event
    deleted_grace_s: float = 2.0  # an editor's rename-away is not told as a file that is missing
    sweep_s: float = 5.0  # the stat sweep that catches what inotify misses
    # --- compile --------------------------------------------------------------------------------
    compile_slice_s: float = 0.002
    compile_inline_tools: int = 200  # larger changes go to the worker process
    doctor_searches: int = 2_000  # for tools that may be hard to find: some seconds at 10,000 tools
    worker_idle_s: float = 60.0
    sentence_idle_s: float = 600.0  # of the sentence model's worker: it takes a second to start, and 150 MB
    sentence_query_s: float = 0.010  # a search waits so long for its query's vector, then does without
    sentence_batch: int = 8  # tools a request: a query waits behind one, some 60 ms
    sentence_answer_s: float = 30.0  # … that takes longer than this is given up
    sentence_share: float = 0.5  # of one CPU, while the catalog's vectors are made
    sentence_retry_s: float = 600.0  # after the worker died of it twice, or the model could not be used
    # --- what is made for sessions, and kept while it is true ------------------------------------
    kept_views: int = 64  # of the newest catalog, one a grant and dialect: as many as there may be sessions
    assembled_bytes: int = 32 * 1024 * 1024  # listings by context length and encoding: 1,000 of usual size
    shown_tools: int = (
        20_000  # of one session, whose definitions it was shown; of more the oldest are forgotten
    )
    # --- stopping -------------------------------------------------------------------------------
    drain_s: float = 5.0
    shutdown_s: float = 12.0


LIVE = frozenset(
    (
        *("user_file_bytes", "project_file_bytes", "word_list_bytes"),
        *("settle_s", "deleted_grace_s", "sweep_s", "doctor_searches"),
    )
)
"""Those that are read of the config anew whenever they are needed."""
