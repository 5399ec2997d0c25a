with items as (
    {{ current_rows(ref('stg_items')) }}
)

select
    dataset,
    item_id,
    testlet_id,
    stratum,
    split,
    test_part,
    item_text,
    gold_label,
    gold_score,
    answer_key,
    min_score,
    max_score,
    item_hash,
    scheme_hash,
    extra
from items
