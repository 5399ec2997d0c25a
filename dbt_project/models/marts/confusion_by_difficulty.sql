{{ config(materialized='view') }}

with confusion_by_difficulty as (
    select
        fit_id,
        rater_id,
        difficulty_bin,
        gold_label,
        answer_label,
        dataset,
        n,
        row_share
    from {{ source('psychometrics', 'confusion_by_difficulty') }}
)

select * from confusion_by_difficulty
