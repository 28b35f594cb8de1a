"""A workflow whose tasks hand values on, one of them mapped, one retried."""

from datetime import datetime, timedelta

from airflow.sdk import dag, task


@dag(schedule="@daily", start_date=datetime(2026, 1, 1), catchup=False, tags=["trees"])
def forest():
    @task
    def seeds():
        return [1, 2, 3]

    @task
    def grow(seed):
        return seed * 10

    @task(retries=1, retry_delay=timedelta(seconds=0))
    def fell(trees):
        return sum(trees)

    fell(grow.expand(seed=seeds()))


forest()
