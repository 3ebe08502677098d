"""Made-up catalogs of any size for the benchmarks: deterministic, in the shape of real tool definitions."""

from __future__ import annotations

import random

SERVICES = (
    "github gitlab slack linear jira notion gmail calendar drive stripe sentry datadog pagerduty cloudflare "
    "aws gcp azure postgres mysql mongo redis kafka docker kubernetes terraform figma zoom hubspot "
    "salesforce zendesk asana trello airtable shopify twilio sendgrid mixpanel amplitude snowflake bigquery"
).split()
VERBS = (
    "create list get update delete search archive restore export import enable disable rotate sync assign "
    "close reopen merge approve comment"
).split()
NOUNS = (
    "issue pull_request branch commit message channel thread user team project task page database row file "
    "folder event invoice customer subscription incident alert monitor dashboard zone dns_record certificate "
    "worker bucket instance cluster pod secret policy role token webhook job pipeline deployment report "
    "query table schema index topic queue template campaign contact deal ticket label milestone release tag "
    "snapshot backup rule route gateway"
).split()
ENDINGS = (
    "Returns the affected {noun} with its identifier and status.",
    "Use this when the user wants to {verb} one or more {noun} entries; supports filtering and paging.",
    "Requires write access to the {service} workspace and an existing {noun} identifier.",
    "Accepts optional filters such as owner, state and date range for each {noun}.",
)


def perturbed_tools(count: int, seed: int = 7) -> tuple[list[dict], list[str]]:
    """`count` definitions as `tools/list` gives them, and the words that queries can be made of."""
    chance = random.Random(seed)
    combos = [(s, v, n) for s in SERVICES for v in VERBS for n in NOUNS]
    chance.shuffle(combos)
    made = []
    for number in range(count):
        service, verb, noun = combos[number % len(combos)]
        round_ = number // len(combos)
        name = f"{service}_{verb}_{noun}" + (f"_v{round_}" if round_ else "")
        human = noun.replace("_", " ")
        ending = chance.choice(ENDINGS).format(noun=human, verb=verb, service=service)
        properties = {
            f"{noun}_id": {"type": "string", "description": f"Identifier of the {human}"},
            "workspace": {
                "type": "string",
                "description": f"{service.capitalize()} workspace or organization",
            },
            "limit": {"type": "integer", "description": "Maximum number of results"},
            "filter": {"type": "string", "description": "Filter expression"},
        }
        made.append(
            {
                "name": name,
                "description": f"{verb.capitalize()} {human} in {service.capitalize()}. {ending}",
                "inputSchema": {"type": "object", "properties": properties, "required": [f"{noun}_id"]},
            }
        )
    return made, [*SERVICES, *VERBS, *(noun.split("_")[0] for noun in NOUNS)]
