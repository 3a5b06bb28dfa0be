"""Addresses of public places and of none."""

import pytest
from tests.guard.examples import found


@pytest.mark.parametrize(
    "written",
    [
        "서울특별시 강남구 테헤란로 123",
        "서울시 강남구 테헤란로 123, 4층",
        "서울 강남구 역삼동 123-45",
        "경기도 성남시 분당구 판교역로235번길 12",
        "세종특별자치시 한누리대로 2130",
        "충청남도 천안시 동남구 병천면 아우내1길 10",
        "전남 순천시 해룡면 신대리 123번지",
        "강원특별자치도 춘천시 중앙로 1",
        "서울특별시 종로구 세종대로 209 (세종로)",
        "대전 유성구 대학로 99 101동 1203호",
        "서울 종로구 종로3가 12",
        "제주특별자치도 제주시 첨단로 242",
    ],
)
@pytest.mark.parametrize("around", ["{}", "주소는 {}입니다", "| {} |"])
def test_addresses(written: str, around: str) -> None:
    assert found(around.format(written)) == [("address", written)]


@pytest.mark.parametrize(
    "text",
    ["서울 04524", "강남구 테헤란로 123", "서울은 3번째로 12", "서울 시내 04524", "서울로 7017",
     "부산으로 가는 길 12", "서울 12가 34", "경기 결과 3대 1"],
)  # fmt: skip
def test_no_addresses(text: str) -> None:
    assert found(text) == []
