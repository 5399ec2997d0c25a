with decided as (
    select
        responses.dataset,
        responses.rater_id,
        responses.item_id,
        responses.replicate,
        {{ fold_characters(strip_reasoning('responses.text')) }} as body
    from {{ ref('responses') }} as responses
    inner join {{ ref('raters') }} as raters using (rater_id)
    where starts_with(raters.template_version, 'decisions/') and responses.text is not null
),

steps as (
    select
        unnest(['relevance', 'correctness', 'contradiction', 'completeness']) as step,
        unnest([1, 2, 3, 4]) as position
),

sub_answers as (
    select
        decided.dataset,
        decided.rater_id,
        decided.item_id,
        decided.replicate,
        steps.step,
        cast(steps.position as integer) as position,
        -- the last line that states the step; null where none does
        regexp_extract_all(
            lower(decided.body),
            '(?m)^[^a-z\n]*' || steps.step || '[^a-z\n]*[:=][^a-z\n]*(yes|no)\b',
            1
        )[-1] as answer
    from decided
    cross join steps
)

select * from sub_answers
