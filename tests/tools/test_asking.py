"""Which questions want a secret."""

from tests.support.each import each
from tools.agent_ports import wants_secret


@each(
    "text",
    [
        "Please enter your password",
        "What is your API key?",
        "Paste the access token here.",
        "Give me the GitHub personal access token",
        "Which database?\nEnter the DB password:",
        "What's the password for the staging server?",
        "Please provide an API key for OpenAI",
    ],
)
def test_asking_for_a_secret_is_noticed(text):
    assert wants_secret(text)


@each(
    "text",
    [
        "Which database?",
        "Should the CLI provide the API key as a flag?",
        "Which token type should the lexer use?",
        "What is the password policy?",
        "Where is the private key stored?",
        "What is the API key variable called?",
        "Should I type the password field as str?",
        "Give me your opinion on storing credentials in .env",
        "What is the key you want to bind?",
        "Send the password reset mail at once?",
        "Shall users share credentials?",
    ],
)
def test_a_question_about_secrets_is_none_for_one(text):
    assert not wants_secret(text)
