with compared as (
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
        coalesce(
            answer_labels.position, {{ nearest_integer('responses.answer_score') }}
        ) as answer_class,
        case when datasets.response_kind = 'score' then items.gold_score end as gold_score,
        responses.answer_score,
        responses.answer_choice = upper(items.answer_key) as is_key
    from {{ ref('responses') }} as responses
    inner join {{ ref('raters') }} as raters using (rater_id)
    inner join {{ ref('items') }} as items using (dataset, item_id)
    inner join {{ ref('datasets') }} as datasets using (dataset)
    left join {{ ref('labels') }} as gold_labels
        on
            datasets.label_set = gold_labels.label_set
            and items.gold_label = gold_labels.label
    left join {{ ref('labels') }} as answer_labels
        on
            datasets.label_set = answer_labels.label_set
            and responses.answer_label = answer_labels.label
    where
        responses.replicate = 0
        and raters.task in ('grade', 'answer')
        and case datasets.response_kind
            when 'label' then gold_labels.position is not null
            when 'score' then items.gold_score is not null
            else items.answer_key is not null
        end
),

rater_counts as (
    select
        dataset,
        count(distinct rater_id) as n_raters
    from compared
    where is_answered
    group by dataset
),

-- the items that every rater with an answer at all has answered
common_items as (
    select
        compared.dataset,
        compared.item_id
    from compared
    inner join rater_counts using (dataset)
    where compared.is_answered
    group by compared.dataset, compared.item_id
    having count(*) = max(rater_counts.n_raters)
),

gold_comparisons as (
    select
        compared.* exclude (is_key),
        compared.is_answered and common_items.item_id is not null as is_common,
        case
            when not compared.is_answered then null
            when compared.response_kind = 'choice' then compared.is_key
            else compared.answer_class = compared.gold_class
        end as is_equal
    from compared
    left join common_items using (dataset, item_id)
)

select * from gold_comparisons
