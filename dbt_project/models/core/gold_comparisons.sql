with answered as (
    select
        responses.dataset,
        responses.rater_id,
        responses.item_id,
        items.testlet_id,
        items.test_part,
        datasets.response_kind,
        responses.status,
        responses.status = 'ok' as is_answered,
        case datasets.response_kind
            when 'label' then gold_labels.position
            when 'score' then {{ nearest_integer('items.gold_score') }}
        end as gold_class,
        coalesce(answer_labels.position, {{ nearest_integer('responses.answer_score') }}) as answer_class,
        case when datasets.response_kind = 'score' then items.gold_score end as gold_score,
        responses.answer_score,
        items.answer_key,
        responses.answer_choice,
    from {{ ref('responses') }} as responses
    inner join {{ ref('raters') }} as raters using (rater_id)
    inner join {{ ref('items') }} as items using (dataset, item_id)
    inner join {{ ref('datasets') }} as datasets using (dataset)
    left join {{ ref('labels') }} as gold_labels
        on datasets.label_set = gold_labels.label_set and items.gold_label = gold_labels.label
    left join {{ ref('labels') }} as answer_labels
        on datasets.label_set = answer_labels.label_set and responses.answer_label = answer_labels.label
    where
        responses.replicate = 0
        and raters.task in ('grade', 'answer')
        and case datasets.response_kind
            when 'label' then gold_labels.position is not null
            when 'score' then items.gold_score is not null
            else items.answer_key is not null
        end
),

-- the items that every rater with an answer at all has answered
common_items as (
    select
        dataset,
        item_id,
    from answered
    inner join (
        select
            dataset,
            count(distinct rater_id) filter (where is_answered) as n_raters,
        from answered
        group by dataset
    ) as rater_counts using (dataset)
    group by dataset, item_id
    having count(*) filter (where is_answered) = max(n_raters)
),

gold_comparisons as (
    select
        answered.dataset,
        answered.rater_id,
        answered.item_id,
        answered.testlet_id,
        answered.test_part,
        answered.response_kind,
        answered.status,
        answered.is_answered,
        answered.is_answered and common_items.item_id is not null as is_common,
        answered.gold_class,
        answered.answer_class,
        answered.gold_score,
        answered.answer_score,
        case
            when not answered.is_answered then null
            when answered.response_kind = 'choice' then answered.answer_choice = upper(answered.answer_key)
            else answered.answer_class = answered.gold_class
        end as is_equal,
    from answered
    left join common_items using (dataset, item_id)
)

select * from gold_comparisons
