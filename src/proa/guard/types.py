"""The types of personal data and secrets, with their names for people."""

LABELS: dict[str, tuple[str, str]] = {
    "resident_number": ("주민번호", "RESIDENT_NUMBER"),
    "foreigner_number": ("외국인번호", "FOREIGNER_NUMBER"),
    "passport": ("여권번호", "PASSPORT"),
    "driver_licence": ("운전면허", "DRIVER_LICENCE"),
    "business_number": ("사업자번호", "BUSINESS_NUMBER"),
    "corporate_number": ("법인번호", "CORPORATE_NUMBER"),
    "mobile_phone": ("전화", "PHONE"),
    "phone": ("전화", "PHONE"),
    "foreign_phone": ("전화", "PHONE"),
    "bank_account": ("계좌", "BANK_ACCOUNT"),
    "card": ("카드", "CARD"),
    "iban": ("IBAN", "IBAN"),
    "customs_code": ("통관부호", "CUSTOMS_CODE"),
    "address": ("주소", "ADDRESS"),
    "vehicle_plate": ("차량번호", "VEHICLE_PLATE"),
    "health_insurance": ("건강보험", "HEALTH_INSURANCE"),
    "military_number": ("군번", "MILITARY_NUMBER"),
    "ci_di": ("연계정보", "CI_DI"),
    "birth_date": ("생년월일", "BIRTH_DATE"),
    "email": ("이메일", "EMAIL"),
    "ip_address": ("IP", "IP_ADDRESS"),
    "api_key": ("API키", "API_KEY"),
    "jwt": ("JWT", "JWT"),
    "private_key": ("개인키", "PRIVATE_KEY"),
    "password": ("비밀번호", "PASSWORD"),
}
"""Type → its Korean and its English label, as in `[주민번호_1]`."""

TYPES = frozenset(LABELS)
LANGUAGES = ("ko", "en")


def label(type_: str, language: str = "ko") -> str:
    """What a type is called in a token; a user's own type by its name."""
    known = LABELS.get(type_)
    return type_ if known is None else known[language == "en"]
