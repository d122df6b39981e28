"""Words and signs of other languages, by the English word of the same meaning."""

from .vocabulary import words

_WORDS_BY_MEANING = """
answer: án antwort réponse reponse respuesta risposta resposta antwoord ответ odpowiedź cevap
 svar jawaban jawabannya 答案 答え 回答 正解 정답 정답은 답 답은 답변 الإجابة الجواب उत्तर
 उत्तरः vastaus απάντηση válasz odpověď răspunsul
option: antwortmöglichkeit opción opcion opção opcao opzione optie вариант seçenek 选项 選項
 選択肢 선택지 보기 الخيار विकल्प opcja pilihan
caption: bildunterschrift aussage beschreibung légende legende description legenda didascalia
 leyenda descripción descrizione descrição beschrijving bijschrift подпись описание описания
 描述 描述是 説明文 キャプション 字幕 说法 陈述 설명 캡션
image: bild imagen immagine imagem afbeelding изображение картинка 图片 图像 圖片 画像 그림
 이미지
is: と思われます と答えます です でしょう だと思います と思います だ ist est es è é это являются
 является 是 为 為 は が 입니다 이다 이며 हैं है هي هو adalah là jest är er este
not: ていません ません 不会 nicht nie pas niet нет не 不是 不 没有 沒有 ではありません ではない
 じゃない 아닙니다 아니다 아니라 नहीं ليس ليست tidak không nem non não nao kein keine není inte
 ikke
correct: 適切 合适 恰当 相符 一致しています 一致している stimmen 真 正解です 正解で
 当てはまります 該当します 一致します bonne bon buena bueno buona boa vrai vraie verdadero
 verdadera vero vera wahr exacte exacto certo richtig richtige korrekt correcte correcto
 correcta corretto corretta correto juste juist juiste goed правильный правильно верно верный
 верна правильная poprawna doğru 正确 正确的 正確 正しい 符合 匹配 吻合 准确 맞습니다 맞다 맞는
 올바른 옳습니다 صحيح الصحيحة सही benar đúng korrekte zutreffend zutreffende stimmt adecuada
 exacta verdad verdade verità vérité 合って 合っています
incorrect: 不相符 一致していません ではなく じゃなく 假 不正解 错 falsa falso falsos errada
 sbagliato unwahr faux 違います 違う 間違って 間違っています 不正确 不正確 错误 错误的 錯誤
 不符合 不符 不匹配 不对 正しくない 正しくありません 間違い 誤り 틀렸습니다 틀리다 falsch
 falsche fausse incorrecta incorrecto errata sbagliata errado неверно неправильно неверный
 onjuist fout salah sai yanlış خطأ गलत błędna incorrecte ungültig
matches: passt trifft entspricht stimmt correspond coincide corrisponde corresponde klopt
 соответствует подходит décrit describe beschreibt descreve descrive описывает 符合图片
choose: entschieden gewählt choisi optado entscheide opto quedo decido を選びます wähle wählen
 choisis elijo escojo scelgo escolho kies выбираю 选择 选 選 選擇 選びます 应选 故选
so: tanto also daher deshalb folglich donc ainsi portanto quindi perciò dus поэтому
 следовательно итак 所以 因此 故 综上 综上所述 したがって よって 따라서 그러므로 لذلك इसलिए → ⇒
 そう
but: aber sondern mais pero ma però mas maar но 而是 但是 但 而 しかし 하지만 그러나
and: 与 und et y e и 和 與 과 와
or: oder ou o или 或 或者
if: wenn falls si se als если 如果 もし
i: ich je yo eu io ik я 我
would: würde wuerde
seems: scheint semble parece paraît sembra
should: dürfte sollte
probably: prob vermutlich wahrscheinlich probablement probablemente probabilmente provavelmente
 おそらく たぶん 아마
case: fall cas caso
that: eso que
figure: 図
it: それ
show: 示し 示して
say: sagen sage dirais diría diria direi digo dis скажу
think: denke glaube pense crois creo penso credo acho думаю 认为 觉得
because: weil denn da parce car porque perché omdat потому 因为 なぜなら 왜냐하면
yes: parfaitement 说得对 ええ ouais yea ye ya afirmativo affirmatif effectivement efectivamente
 cierto yeah yep yup その通り そのとおり そうです 没错 沒錯 ja jawohl genau oui sí sì si sim да
 evet 是的 对 對 对的 はい 네 예 نعم हाँ हां vâng có jep tak ναι 正是
no: 说得不对 nop na naw keineswegs 不是这样的 不是这样 ちがいます negativo négatif 不是的 nope
 nah nee nein negative нет hayır いいえ 아니요 아니오 لا nahi 否 没 negatief όχι ne
the: der die l le la les el los lo il de het o os
final: endgültige finale définitive definitiva definitivo окончательный 最终 最終 최종
first: erste ersten erstes première premier premiere primera primero primer prima primo primeira
 primeiro eerste первый первая первое 第一 第一个 第一张 一番目 最初 1st
two: zwei deux dos
quite: ganz
else: anderes
something: etwas
totally: völlig
second: zweite zweiten zweites deuxième deuxieme seconde segunda segundo seconda secondo tweede
 второй вторая второе 第二 第二个 第二张 二番目 2nd
third: dritte dritten troisième tercera tercero terza terzo terceira derde третий третья 第三
 第三个 三番目 3rd
does: tut schon
certainly: sicher sicherlich sûrement seguramente
this: das dies diese cela ceci esto questo isso dit dat cette
one: eine einer une una uma een
""".strip()
"""An English word, a colon, and the words that mean it. A line without a colon continues a list."""

_ALSO_ENGLISH = words("description legend a e o y se de ma also als no finale dit falls")
"""Words above that are English words of another meaning, or letters of options."""

_AMBIGUOUS = {"es": "is", "est": "is", "non": "not", "ne": "not", "si": "if", "nah": "no"}
"""Words of several lists, by the meaning that clauses need most."""


def _read_translations() -> dict[str, str]:
    meanings: dict[str, str] = {}
    meaning = ""
    for line in _WORDS_BY_MEANING.split("\n"):
        before_colon, colon, after_colon = line.partition(":")
        if colon:
            meaning = before_colon
        foreign_words = after_colon if colon else line
        for word in foreign_words.split():
            # The first list of a word counts; _AMBIGUOUS settles the words for which it should not.
            meanings.setdefault(word, meaning)
    # Answers in English are by far the most, so their words keep their meaning.
    for word in _ALSO_ENGLISH:
        meanings.pop(word, None)
    return meanings | _AMBIGUOUS


TRANSLATIONS = _read_translations()
"""The English word of each foreign word, both in lower case."""
LONGEST_PHRASE = 8
"""Longest phrase of TRANSLATIONS in a script without spaces, in characters."""

SIGNS = {
    "✓": "correct",
    "✔": "correct",
    "☑": "correct",
    "✅": "correct",
    "👍": "correct",
    "√": "correct",
    "○": "correct",
    "→": "so",
    "⇒": "so",
}
SIGNS |= dict.fromkeys("×✗✘❌❎👎☒", "wrong")
"""Signs that stand for a word."""
