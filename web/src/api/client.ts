// The border to the server: questions out, answers or a refusal in. Nothing else on the page calls fetch.

// Why there is no answer: the server's own words, with the field that they are about.
export class Refusal extends Error {
  constructor(
    message: string,
    readonly field: string,
    readonly status: number,
  ) {
    super(message);
  }
}

async function answer_of<T>(response: Response): Promise<T> {
  const text = await response.text();
  let body: unknown = null;
  try {
    body = text === "" ? null : JSON.parse(text);
  } catch {
    if (response.ok) throw new Refusal("the server's answer is not JSON", "", response.status);
  }
  if (response.ok) return body as T;
  const error = (body as { error?: { message?: string; field?: string } } | null)?.error;
  throw new Refusal(error?.message ?? `the server answers ${response.status}`, error?.field ?? "", response.status);
}

async function call<T>(path: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (failure) {
    if ((failure as Error).name === "AbortError") throw failure;
    throw new Refusal("the server does not answer; is foretrain serve still running?", "", 0);
  }
  return answer_of<T>(response);
}

export const ask = <T>(route: string, question: unknown, signal?: AbortSignal): Promise<T> =>
  call<T>(`/api/v1/${route}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
export const look = <T>(route: string, signal?: AbortSignal): Promise<T> => call<T>(`/api/v1/${route}`, { signal });
export const leave = (route: string): Promise<unknown> =>
  call<unknown>(`/api/v1/${route}`, { method: "DELETE", keepalive: true });

export const is_abort = (failure: unknown): boolean => (failure as Error)?.name === "AbortError";
