with counted as (
    select
        dataset,
        rater_id,
        status,
        count(*) as n
    from {{ ref('responses') }}
    group by dataset, rater_id, status
),

coverage as (
    select
        dataset,
        rater_id,
        status,
        n,
        n / sum(n) over (partition by dataset, rater_id) as share
    from counted
)

select * from coverage
