with reference_answers as (
    {{ current_rows(ref('stg_reference_answers')) }}
)

select
    dataset,
    testlet_id,
    reference_id,
    reference_text,
    quality
from reference_answers
