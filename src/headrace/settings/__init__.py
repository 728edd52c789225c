"""Every setting of a broker, a topic and a group: one declaration each, from which parsing, checks, help and docs derive."""

from headrace.settings.broker import BROKER_SETTINGS, BrokerSettings
from headrace.settings.definition import Setting, SettingError
from headrace.settings.group import GROUP_SETTINGS
from headrace.settings.topic import TOPIC_SETTINGS

__all__ = ["BROKER_SETTINGS", "GROUP_SETTINGS", "TOPIC_SETTINGS", "BrokerSettings", "Setting", "SettingError"]
