"""A session that sends the same failing call again and again is told so."""

from toolsearchd.dispatch.entry import Outcome
from toolsearchd.dispatch.failures import Failures
from toolsearchd.dispatch.shapes import RequestedCall

OK = Outcome(response={"content": []})


def failed(code="TOOL_ERROR"):
    return Outcome(error={"code": code, "message": "no such file", "response": {}})


def call(name="read", **arguments):
    return RequestedCall(name=name, arguments=arguments)


def repeats(failures, *outcomes, request=None):
    told = [failures.judged(request or call(path="/x"), outcome) for outcome in outcomes]
    return [outcome.error and outcome.error.get("repeat") for outcome in told]


def test_from_the_third_on_it_is_said():
    failures = Failures()
    assert repeats(failures, *[failed()] * 4) == [None, None, 3, 4]
    last = failures.judged(call(path="/x"), failed()).error
    assert last["message"].startswith("no such file (this same call has failed 5 times")
    assert (last["code"], last["response"]) == ("TOOL_ERROR", {})


def test_another_call_is_another():
    failures = Failures()
    refused = failed("INVALID_ARGUMENTS")
    assert repeats(failures, refused, refused) == [None, None]
    assert repeats(failures, refused, request=call(path="/y")) == [None]
    assert repeats(failures, refused, request=call("write", path="/x")) == [None]
    assert repeats(failures, refused) == [3]


def test_a_tool_that_fails_in_a_row_whatever_its_arguments_is_told_of():
    failures = Failures()
    assert repeats(failures, failed(), failed("SERVER_ERROR")) == [None, None]
    third = failures.judged(call(path="/y"), failed()).error
    assert third["repeat"] == 3
    assert third["message"].startswith("no such file (this tool has failed 3 times")
    assert repeats(failures, failed(), request=call("write", path="/x")) == [None]
    assert repeats(failures, OK, request=call(path="/z")) == [None]
    assert repeats(failures, failed(), request=call(path="/y")) == [None]


def test_what_kept_a_call_back_is_no_error_of_its_tool():
    failures = Failures()
    for at, code in enumerate(("DENIED", "TOOL_NOT_FOUND", "SERVER_UNAVAILABLE", "NO_APPROVER")):
        assert repeats(failures, failed(code), request=call(n=at)) == [None]


def test_the_order_of_arguments_does_not_matter():
    failures = Failures()
    repeats(failures, failed(), failed(), request=call(a=1, b=2))
    assert repeats(failures, failed(), request=call(b=2, a=1)) == [3]


def test_one_that_works_begins_anew_and_a_stop_counts_for_nothing():
    failures = Failures()
    assert repeats(failures, failed(), failed(), OK, failed()) == [None, None, None, None]
    assert repeats(failures, failed("INTERRUPTED"), failed("INDETERMINATE")) == [None, None]
    assert repeats(failures, failed("INVALID_ARGUMENTS"), failed()) == [None, 3]


def test_few_are_remembered():
    failures = Failures()
    repeats(failures, failed(), failed())
    for at in range(300):
        repeats(failures, failed(), request=call(f"t{at}", n=at))
    assert repeats(failures, failed()) == [None]
