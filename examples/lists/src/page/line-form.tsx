import { type FormEvent, type ReactNode, useState } from 'react';

interface Props {
  readonly label: string;
  readonly submit: (text: string) => void;
}

/** One line of text that is sent with Enter. */
export function LineForm({ label, submit }: Props): ReactNode {
  const [text, setText] = useState('');
  const send = (event: FormEvent): void => {
    event.preventDefault();
    const line = text.trim();
    if (line === '') return;
    setText('');
    submit(line);
  };
  return (
    <form className="line" onSubmit={send}>
      <input aria-label={label} placeholder={label} value={text} onChange={({ target }) => setText(target.value)} />
      <button type="submit" aria-label={`${label}: send`} disabled={text.trim() === ''}>
        +
      </button>
    </form>
  );
}
