with current_options as (
    {{ current_rows(ref('stg_item_options')) }}
),

item_options as (
    select
        current_options.dataset,
        current_options.item_id,
        current_options.option,
        current_options.option_text,
        current_options.option = items.answer_key as is_key
    from current_options
    inner join {{ ref('items') }} as items using (dataset, item_id)
)

select * from item_options
