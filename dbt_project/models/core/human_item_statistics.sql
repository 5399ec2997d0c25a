with human_item_statistics as (
    {{ current_rows(ref('stg_human_item_statistics')) }}
)

select
    dataset,
    item_id,
    stratum,
    source,
    difficulty,
    discrimination,
    a,
    b,
    c,
    facility,
    n
from human_item_statistics
