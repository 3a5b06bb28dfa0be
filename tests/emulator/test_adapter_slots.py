"""LoRA adapters in slots."""

from proa.emulator.adapter_slots import AdapterSlots


def test_a_load_costs_time_once() -> None:
    slots = AdapterSlots(slots=2, load_s=0.5)
    assert [slots.take("a"), slots.take("a"), slots.take("")] == [0.5, 0.0, 0.0]
    assert slots.in_use == ("a",)


def test_an_unused_adapter_makes_room_the_longest_unused_first() -> None:
    slots = AdapterSlots(slots=2, load_s=0.5)
    for name in ("a", "b", "a"):
        slots.take(name)
    for name in ("a", "a", "b"):
        slots.give_back(name)
    slots.take("c")
    assert slots.resident == ("a", "c")


def test_no_slot_while_all_are_in_use() -> None:
    slots = AdapterSlots(slots=1, load_s=0.5)
    slots.take("a")
    assert not slots.can_take("b")
    assert slots.can_take("a")
    assert slots.can_take("")
    slots.give_back("a")
    assert slots.can_take("b")
