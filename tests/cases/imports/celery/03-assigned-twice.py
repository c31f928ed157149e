CELERY_BEAT_SCHEDULE = {
    # 'third-task':{
    #     'task':'app.tasks.task_three',
    #     'schedule': 2.0,
    # },
    # 'fifth-task':{
    #     'schedule': crontab(minute=59, hour=23),
    #     # 'schedule': crontab(minute=0, hour='*/3,10-19'),
    # },
}
from datetime import timedelta

# CELERY_TIMEZONE = 'Asia/Makassar'
CELERY_BEAT_SCHEDULE = {
  'task_one':{
    'task':'app.tasks.task_number_one',
    # 'schedule':crontab(minute=59, hour=23),
    "schedule": timedelta(seconds=2),
  },
  'task_two':{
    'task':'app.tasks.task_number_two',
    # 'schedule':crontab(minute=0, hour='*/3,10-19'),
    "schedule": timedelta(seconds=2),
  }
}
