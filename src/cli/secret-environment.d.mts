type Variables = Record<string, string>;
export declare function separate(env: Variables): { shown: Variables; hidden: Variables };
