"""Trains a tiny vision-language model with TRL's GRPO on an export: the program of a process of its
own, which prints the mean reward of each step.

    python trl_training.py EXPORT FOLDER

The model's words are a few numbers, and all questions have the answer 1, so a policy that learns
from the reward answers 1 after some steps.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers as t
from datasets import load_dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from trl import GRPOConfig, GRPOTrainer

SIGNS = ("<pad>", "</s>", "<s>", "<image>", "[UNK]")
SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
}
TEMPLATE = (
    "<s>{% for message in messages %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endfor %}"
)


def write_model(folder: Path) -> None:
    """Save a new model with its processor."""
    ids = {word: i for i, word in enumerate((*SIGNS, "0", "1", "2", "3"))}
    words = Tokenizer(models.WordLevel(ids, "[UNK]"))
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = t.PreTrainedTokenizerFast(
        tokenizer_object=words,
        unk_token="[UNK]",
        pad_token="<pad>",
        eos_token="</s>",
        bos_token="<s>",
        additional_special_tokens=["<image>"],
    )
    config = t.LlavaConfig(
        vision_config=t.CLIPVisionConfig(**SMALL, image_size=32, patch_size=16, projection_dim=16),
        text_config=t.LlamaConfig(
            **SMALL,
            vocab_size=len(tokenizer),
            num_key_value_heads=2,
            bos_token_id=2,
            eos_token_id=1,
            pad_token_id=0,
        ),
        image_token_id=ids["<image>"],
        vision_feature_layer=-1,
    )
    torch.manual_seed(0)
    t.LlavaForConditionalGeneration(config).save_pretrained(folder)
    images = t.CLIPImageProcessor(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    t.LlavaProcessor(
        images,
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)


def train(export: Path, folder: Path) -> list[float]:
    """Train; returns the mean reward of each step."""
    sys.path.insert(0, str(export))
    from reward_funcs import REWARD_FUNCS

    questions = load_dataset(
        "parquet",
        data_files=str(export / "train.parquet"),
        split="train",
        cache_dir=str(folder / "cache"),
    )
    write_model(folder / "model")
    trainer = GRPOTrainer(
        model=str(folder / "model"),
        args=GRPOConfig(
            output_dir=str(folder / "trained"),
            max_completion_length=1,
            max_steps=15,
            learning_rate=3e-2,
            per_device_train_batch_size=16,
            num_generations=8,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            bf16=False,
            seed=0,
        ),
        reward_funcs=REWARD_FUNCS,
        train_dataset=questions.filter(lambda row: json.loads(row["truth"])["truth"]["count"] == 1),
    )
    trainer.train()
    return [entry["reward"] for entry in trainer.state.log_history if "reward" in entry]


if __name__ == "__main__":
    print(json.dumps(train(Path(sys.argv[1]), Path(sys.argv[2]))))
