{{ config(materialized='view') }}

with rater_robustness as (
    select
        fit_id,
        rater_id,
        bin_source,
        difficulty_bin,
        dataset,
        model,
        n,
        n_missing,
        accuracy,
        expected_accuracy,
        accuracy - expected_accuracy as excess_accuracy,
        undefined_reason
    from {{ source('psychometrics', 'rater_bins') }}
)

select * from rater_robustness
