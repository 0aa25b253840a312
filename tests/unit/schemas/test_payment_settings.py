"""Who makes the links of an installation, by what its settings name."""

import pytest

from schemas.payments import PaymentProvider
from schemas.settings import read_settings

KEY = {"REPLIQUE_PAYMENTS__STRIPE_KEY": "sk_test_x"}
BESIDE_A_SIMULATOR = {"REPLIQUE_SIMULATOR": "true"}


@pytest.mark.parametrize(
    ("environ", "provider"),
    [
        ({}, PaymentProvider.WEBHOOK),
        (KEY, PaymentProvider.STRIPE),
        (BESIDE_A_SIMULATOR, PaymentProvider.TEST),
        (KEY | BESIDE_A_SIMULATOR, PaymentProvider.STRIPE),
        (KEY | {"REPLIQUE_PAYMENTS__PROVIDER": "webhook"}, PaymentProvider.WEBHOOK),
    ],
)
def test_the_platform_sells_unless_something_else_is_named(environ: dict[str, str], provider: PaymentProvider) -> None:
    assert read_settings(environ).payment_provider is provider
