"""Templates: everything that goes into one is escaped, what is missing is a fault and not a blank."""

from datetime import UTC, datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from turnledger.projections.legible import legible, one_line
from turnledger.web.timelines import css_class


def _time(time: datetime | None) -> Markup:
    """A time with its day, for people and for programs."""
    if time is None:
        return Markup("unknown")
    utc = time.astimezone(UTC)
    return Markup(f'<time datetime="{utc:%Y-%m-%dT%H:%M:%SZ}">{utc:%Y-%m-%d %H:%M:%S} UTC</time>')


def _clock(time: datetime) -> str:
    return f"{time.astimezone(UTC):%H:%M:%S}"


def _hyphenated(text: str) -> Markup:
    """A long id, with places where it may be broken."""
    return Markup("<wbr>").join(
        Markup(escape(part))
        for part in text.replace("-", "-\0").replace("/", "/\0").replace("_", "_\0").split("\0")
    )


TEMPLATES = Environment(
    loader=PackageLoader("turnledger.web"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters.update(
    time=_time, clock=_clock, css_class=css_class, legible=legible, one_line=one_line, breakable=_hyphenated
)


def rendered(template: str, **values: Any) -> str:
    """A template with its values, as HTML."""
    return TEMPLATES.get_template(template).render(**values)
