"""Components as libraries define them, and when a part fits a need."""

from __future__ import annotations

import pytest

from lithos.graph.code.surveys.reading import read_survey
from lithos.habits.components import _fits

LIBRARY = b"""
export const Badge = polymorphicFactory<BadgeFactory>((given) => { return <Box {...given} /> })
export interface BadgeProps { size?: string; color: string }
export const makeVAlertProps = propsFactory({
  border: { type: [Boolean, String], default: 'start' }, closable: Boolean, text: { type: String, required: true },
}, 'VAlert')
export const VAlert = genericComponent<Slots>()({ name: 'VAlert', props: makeVAlertProps(), setup () {} })
export interface ChipProps { label: string }
export const Chip = withContext<HTMLSpanElement, ChipProps>('span')
function AccordionRoot(props: { open: boolean }) { return <div/> }
export const Accordion = Object.assign(AccordionRoot, { Item })
export const Theme = createContext(null)
export const COLORS = Object.freeze({ red: '#f00' })
export default defineComponent({ name: 'ElTag', props: { type: String } })
"""


def test_components_that_a_call_makes_are_found_with_their_props() -> None:
    extra = read_survey("components:tsx", LIBRARY).extra
    made = {each["name"]: {prop["name"]: prop for prop in each["props"]} for each in extra["made"]}
    assert {name: [*props] for name, props in made.items() if name in extra["exported"]} == {
        "Badge": ["size", "color"],
        "VAlert": ["border", "closable", "text"],
        "Chip": ["label"],
        "Accordion": ["open"],
        "ElTag": ["type"],
    }
    assert not made["Badge"]["size"]["required"] and made["Badge"]["color"]["required"]
    assert made["VAlert"]["border"]["default"] == "start" and made["VAlert"]["text"]["required"]


@pytest.mark.parametrize(
    ("near", "said", "shared", "asked", "fits"),
    [
        (0.5, 0.45, 1, 2, False),  # a password field is no password cracking
        (0.5, 1.0, 2, 2, True),
        (0.6, 0.4, 1, 2, True),
        (0.4, 0.2, 1, 8, True),
        (0.4, 0.0, 0, 8, False),
        (0.3, 0.4, 3, 8, True),
        (0.3, 0.1, 1, 8, False),
    ],
)
def test_a_short_need_must_be_met_nearly_whole(near: float, said: float, shared: int, asked: int, fits: bool) -> None:
    assert _fits(near, said, shared, asked) is fits
