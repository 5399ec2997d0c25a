with requested as (
    select
        dataset,
        rater_id,
        count(*) as n_requests,
        count(*) filter (where n_attempts > 0) as n_asked,
        count(*) filter (where status = 'ok') as n_answered,
        count(*) filter (where is_truncated or status = 'truncated') as n_truncated
    from {{ ref('responses') }}
    group by dataset, rater_id
),

attempted as (
    select
        dataset,
        rater_id,
        count(*) as n_attempts,
        count(*) filter (where error_kind is not null) as n_errors,
        cast(sum(prompt_tokens) as bigint) as prompt_tokens,
        cast(sum(completion_tokens) as bigint) as completion_tokens,
        sum(latency_seconds) as engine_seconds
    from {{ ref('attempts') }}
    group by dataset, rater_id
),

rater_usage as (
    select
        dataset,
        rater_id,
        n_requests,
        n_asked,
        n_answered,
        n_truncated,
        coalesce(n_attempts, 0) as n_attempts,
        coalesce(n_errors, 0) as n_errors,
        prompt_tokens,
        completion_tokens,
        engine_seconds
    from requested
    left join attempted using (dataset, rater_id)
)

select * from rater_usage
