"""What tokens cost, by genai-prices. Apart from the models' adapters: who only asks for a price loads no provider's
library."""

from decimal import Decimal

from genai_prices import Usage as PricedUsage
from genai_prices import calc_price

from schemas.llm import Model, Usage


def exact(model: Model, usage: Usage) -> Decimal:
    """US dollars. Raises LookupError for a model without a known price."""
    priced = PricedUsage(
        input_tokens=usage.total_input,
        cache_read_tokens=usage.cache_read,
        cache_write_tokens=usage.cache_write,
        cache_write_1h_tokens=usage.cache_write_1h,
        output_tokens=usage.output,
    )
    return calc_price(priced, model.name, provider_id=model.provider).total_price
