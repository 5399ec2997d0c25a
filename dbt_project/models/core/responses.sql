with current_attempts as (
    select
        request_id,
        count(distinct attempt) as n_attempts,
        -- the latest attempt that need not be repeated; failing that, the latest
        coalesce(
            arg_max(attempt_id, attempt) filter (where error_kind is distinct from 'retryable'),
            arg_max(attempt_id, attempt)
        ) as attempt_id
    from {{ ref('attempts') }}
    group by request_id
),

current_answers as (
    select *
    from {{ ref('parsed_answers') }}
    where parser_version = '{{ parser_version() }}'
),

responses as (
    select
        requests.dataset,
        requests.rater_id,
        requests.item_id,
        requests.replicate,
        requests.request_id,
        current_attempts.attempt_id,
        coalesce(current_attempts.n_attempts, 0) as n_attempts,
        coalesce(answers.status, 'not_asked') as status,
        answers.status_reason,
        case when answers.kind = 'label' then answers.answer end as answer_label,
        case
            when answers.kind = 'choice'
                then {{ own_option('answers.answer', 'schemes.options', 'raters.option_rotation') }}
        end as answer_choice,
        case
            when answers.kind = 'score' then cast(answers.answer as double)
        end as answer_score,
        case
            when answers.kind in ('discrimination', 'difficulty')
                then cast(answers.answer as double)
        end as answer_value,
        answers.parser_rule,
        answers.parser_version,
        answers.is_truncated,
        answers.is_reasoning_stripped,
        attempts.text,
        attempts.finish_reason,
        attempts.error_kind,
        attempts.prompt_tokens,
        attempts.completion_tokens,
        attempts.latency_seconds,
        attempts.prompt_hash
    from {{ ref('stg_requests') }} as requests
    left join current_attempts using (request_id)
    left join {{ ref('attempts') }} as attempts
        on current_attempts.attempt_id = attempts.attempt_id
    left join current_answers as answers
        on attempts.attempt_id = answers.attempt_id and attempts.scheme_hash = answers.scheme_hash
    left join {{ ref('response_schemes') }} as schemes
        on attempts.scheme_hash = schemes.scheme_hash
    left join {{ ref('raters') }} as raters
        on requests.rater_id = raters.rater_id
)

select * from responses
