from proa.planner.explore.texts import Figures, point_text

CHEAP = Figures(1000.0, 400.0, 30.0, 0.05)


def test_the_base_says_only_what_it_is_best_in() -> None:
    text = point_text(CHEAP, CHEAP, ("power", "price"))
    assert text.en == "the lowest price; the least power"
    assert text.ko == "가격이 가장 낮음. 전력이 가장 적음"


def test_another_point_says_what_it_buys_for_how_much() -> None:
    text = point_text(Figures(1500.0, 300.0, 45.0, 1.0), CHEAP, ())
    assert text.en == (
        "50 % dearer than the base; 25 % less power; 50 % faster for each user; "
        "headroom 100 % (base 5 %)"
    )


def test_a_price_that_is_not_known_is_not_compared() -> None:
    text = point_text(Figures(None, 800.0, 30.0, 0.5), CHEAP, ("headroom",))
    assert text.en == "the most headroom; 100 % more power; headroom 50 % (base 5 %)"
