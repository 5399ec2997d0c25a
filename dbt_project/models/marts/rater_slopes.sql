{{ config(materialized='view') }}

with rater_slopes as (
    select
        fit_id,
        rater_id,
        bin_source,
        dataset,
        model,
        n,
        slope,
        slope_se,
        expected_slope,
        excess_slope,
        excess_slope_se,
        excess_slope_ci_low,
        excess_slope_ci_high,
        alpha,
        alpha_se,
        alpha_undefined_reason,
        undefined_reason
    from {{ source('psychometrics', 'rater_slopes') }}
)

select * from rater_slopes
