"""A starter's kit is the kit."""

from tests.kits.table import KITS, Kit, each_kit


@each_kit
def test_a_starters_kit_is_a_copy_byte_for_byte(kit: Kit) -> None:
    """So that what is mended in one is mended in both: `cp protocol/kits/... sample_bots/.../`."""
    assert (kit.starter / kit.file.name).read_bytes() == kit.file.read_bytes()


def test_every_starter_folder_is_in_the_table() -> None:
    """Else nobody tries it."""
    assert {kit.starter for kit in KITS} == {path.parent for path in KITS[0].starter.parent.glob("*/bot.toml")}
