with cells as (
    select
        responses.dataset,
        responses.rater_id,
        responses.item_id,
        items.testlet_id,
        raters.task,
        responses.status,
        responses.answer_score,
        datasets.response_kind,
        case datasets.response_kind
            when 'label' then responses.answer_label = items.gold_label
            when 'choice' then responses.answer_choice = upper(items.answer_key)
            when 'score' then
                {{ nearest_integer('responses.answer_score') }}
                = {{ nearest_integer('items.gold_score') }}
        end as is_right
    from {{ ref('responses') }} as responses
    inner join {{ ref('raters') }} as raters using (rater_id)
    inner join {{ ref('items') }} as items using (dataset, item_id)
    inner join {{ ref('datasets') }} as datasets using (dataset)
    where responses.replicate = 0 and raters.task in ('grade', 'answer')
),

response_matrix as (
    select
        dataset,
        rater_id,
        item_id,
        testlet_id,
        task,
        -- null where there is no answer or no gold: missing is never wrong here
        cast(is_right as integer) as is_correct,
        answer_score,
        status
    from cells
)

select * from response_matrix
