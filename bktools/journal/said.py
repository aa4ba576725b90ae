"""What became of a batch or an account, in words: one sentence for each code, made of its facts."""

from __future__ import annotations

from bktools.journal.records import Facts

# ASSUMED: what a person does about a job in progress that may be this very one.
_LOOK = "look in the service's list of exports"

SENTENCES = {
    "planned": "",
    "sending": "",
    "not_sent": "{said}",
    "taken_back": "{said}",
    "rate_limited": "not taken up, because the service's rate limit is reached: {said}",
    "job_in_progress": "{said}",
    "accepted": "job {job_id}, {status}",
    "accepted_again": "job {job_id} (the proof is the sent log's line of {at} UTC)",
    "refused": "{said}",
    "other_job_in_progress": (
        "{said}. The job in progress is not from this journal: it is another person's export, or this request arrived twice. "
        "Look in the service's list of exports. If people also export by hand, wait with --others-export (others_export=True)"
    ),
    "job_may_be_its_own": (
        "{said}. An earlier request of this batch met the rate limit, so the job in progress may be its own. Look in the "
        "service's list of exports"
    ),
    "foreign_answer": "{said}; the answer is not in the service's form, so it may come from a gateway, and the outcome is unknown",
    "wrong_job": "the service answered with {answered}",
    "job_of_another_batch": "the service answered with job {job_id}, which belongs to another batch ({batch_id})",
    "interrupted": "{said}",
    "sender_ended": "{sender} ended while it was sending",
    "sent_after_copy": "sent after the restored copy was made; its state was {state}",
    "settled": "{evidence}",
    "withdrawn": "{evidence}",
    "replaced": "replaced by batch {batch_id} of a later plan before it was sent",
    "sent_in_another_batch": "its entries were sent in batch {batch_id}",
    "in_another_journal": "its entries are in batch {batch_id} of the other journal, and it was not sent",
    "stays": "stays as it was in this journal",
    # Accounts.
    "CREATED": "created",
    "MATCHED": "it existed already",
    "IMPORTED": "imported from {file}",
    "RETIRED": "not in {list}, which has all accounts",
}


def said(code: str, facts: Facts) -> str:
    """Return the sentence about a code and its facts; what version 0 or the service said stays as it is."""
    if "message" in facts:
        return str(facts["message"])
    return SENTENCES.get(code, "{said}" if "said" in facts else "").format(**facts)
